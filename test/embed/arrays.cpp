// All parameters and gradients of a session as arrays, rows that stay, and options that change.
//   arrays FOLDER GRADIENTS: FOLDER has input.npy and labels.npy; GRADIENTS takes the first step's, by name
#include "perceptron.hpp"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

namespace {

constexpr float kRate = 0.125f;

std::vector<float> rowsOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  const size_t begin = 10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  std::vector<float> values((bytes.size() - begin) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + begin, values.size() * sizeof(float));
  return values;
}

struct Rows {
  std::vector<float> input, labels;
  int64_t count() const { return static_cast<int64_t>(input.size()) / 10; }
};

void same(bool holds, const char *what) { std::printf("%s %s\n", what, holds ? "agree" : "DIFFER"); }

template <typename Call> void wrong(const char *what, Call &&call) {
  try {
    call();
    std::printf("%s: no error\n", what);
  } catch (const kedge::Error &error) {
    std::printf("%s: code %d: %s\n", what, error.code, error.what());
  }
}

perceptron::Session opened() { return perceptron::open({{"--lr", "0.125"}, {"--threads", "1"}}); }

void give(perceptron::Session &session, const Rows &rows) {
  session.setInput("input", rows.input.data(), rows.count());
  session.setInput("labels", rows.labels.data(), rows.count());
}

void keep(perceptron::Session &session, Rows rows) { // a copy, which is gone when this returns
  session.keepInput("input", rows.input.data(), rows.count());
  session.keepInput("labels", rows.labels.data(), rows.count());
}

/// The first step of SGD is the rate times the gradient.
void gradients(const Rows &rows, const char *file) {
  perceptron::Session session = opened();
  wrong("no gradients", [&] { session.getGradients(); });
  session.keepGradients();
  wrong("no step", [&] { session.getGradients(); });
  const std::vector<float> before = session.getParameters();
  give(session, rows);
  session.step();
  const std::vector<float> after = session.getParameters(), all = session.getGradients();
  bool holds = all.size() == before.size();
  for (size_t i = 0; i < all.size(); ++i)
    holds = holds && std::abs(before[i] - kRate * all[i] - after[i]) <= 1e-7f + 1e-6f * std::abs(after[i]);
  same(holds, "steps and gradients");
  std::ofstream out(file, std::ios::binary);
  size_t first = 0;
  for (const kedge_tensor &parameter : session.parameters()) {
    size_t count = 1;
    for (size_t axis = 0; axis < parameter.rank; ++axis)
      count *= static_cast<size_t>(parameter.shape[axis]);
    std::vector<float> one(count);
    session.getGradient(parameter.name, one);
    holds = holds && std::equal(one.begin(), one.end(), all.begin() + static_cast<ptrdiff_t>(first));
    first += count;
    out << parameter.name << '\n';
    out.write(reinterpret_cast<const char *>(one.data()),
              static_cast<std::streamsize>(count * sizeof(float)));
  }
  same(holds, "gradients by name and those of all");
  std::vector<float> few(3);
  wrong("parameter", [&] { session.getGradient("hidden.weights", few); });
  wrong("size", [&] { session.getGradient("hidden.weight", few); });
  wrong("all", [&] { session.setParameters(few); });
  session.setParameters(before);
  same(session.getParameters() == before, "parameters in and out");
  session.keepGradients(false);
  wrong("no longer", [&] { session.getGradients(); });
}

std::vector<double> losses(perceptron::Session &session, const Rows *rows, int steps) {
  std::vector<double> result;
  for (int step = 0; step < steps; ++step) {
    if (rows)
      give(session, *rows);
    result.push_back(session.step().loss);
  }
  return result;
}

void stay(const Rows &rows) {
  perceptron::Session once = opened(), each = opened();
  keep(once, rows);
  same(losses(once, nullptr, 3) == losses(each, &rows, 3), "rows that stay and rows of each call");
  std::vector<float> few(3);
  once.setInput("labels", rows.labels.data(), rows.count() - 1);
  wrong("other rows", [&] { once.step(); });
  wrong("replaced", [&] { once.step(); });
  keep(once, rows);
  give(each, rows);
  same(once.evaluate() == each.evaluate(), "losses after a call that failed");
  if (int code = kedge_keep_input(once.get(), "labels", nullptr, 0))
    throw kedge::Error(code, kedge_error(once.get()));
  wrong("taken back", [&] { once.step(); });
}

void options(const Rows &rows) {
  perceptron::Session session = opened(), other = perceptron::open({{"--lr", "0.03125"}, {"--threads", "1"}});
  keep(session, rows);
  keep(other, rows);
  const std::vector<float> before = session.getParameters();
  session.setOption("--lr", "0");
  session.step();
  same(session.getParameters() == before, "parameters and parameters at a rate of 0");
  perceptron::Session changed = opened();
  keep(changed, rows);
  changed.setOption("--lr", "0.03125");
  same(losses(changed, nullptr, 3) == losses(other, nullptr, 3),
       "a rate that was set and one that was opened");
  changed.setOption("--steps", "3");
  wrong("end", [&] { changed.step(); });
  changed.setOption("--steps", "4");
  same(changed.step().step == 3, "steps");
  wrong("option", [&] { changed.setOption("--data", "x.npy"); });
  wrong("number", [&] { changed.setOption("--lr", "fast"); });
  wrong("empty", [&] { changed.setOption("--lr", ""); });
  session.setOption("--steps", "0");
  wrong("schedule", [&] { session.setOption("--schedule", "cosine"); });
  same(session.step().learning_rate == 0, "the rate after options that were refused");
}

void parts(const Rows &rows) {
  perceptron::Session whole = opened(), parted = opened();
  give(whole, rows);
  const kedge_step_result step = whole.step();
  const std::vector<float> before = parted.getParameters();
  give(parted, rows);
  const kedge_step_result computed = parted.computeGradients();
  same(parted.getParameters() == before && parted.stepsDone() == 0, "parameters before and after gradients");
  const kedge_step_result applied = parted.applyGradients(parted.getGradients());
  same(parted.getParameters() == whole.getParameters() && computed.loss == step.loss && applied.step == 0 &&
           std::isnan(applied.loss) && parted.stepsDone() == 1,
       "a step and its two parts");
  wrong("few", [&] { parted.applyGradients(std::vector<float>(3)); });
  wrong("no rows", [&] { parted.computeGradients(); });
}

} // namespace

int main(int, char **argv) {
  const std::string folder = argv[1];
  const Rows rows{rowsOf(folder + "/input.npy"), rowsOf(folder + "/labels.npy")};
  gradients(rows, argv[2]);
  stay(rows);
  options(rows);
  parts(rows);
}
