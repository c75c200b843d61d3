// Three sessions at the same time: two of one model, one of them on threads of ours, and one of another
// model. Prints the losses of the first; the second must have the same bits. Then what a caller may do wrong,
// a line each.
//   side_by_side FOLDER OUT: FOLDER has input.npy and labels.npy
#include "perceptron.hpp"
#include "taste.hpp"
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

namespace {

struct Rows {
  std::vector<char> bytes;
  explicit Rows(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const float *data() const { return reinterpret_cast<const float *>(bytes.data() + begin()); }
  size_t begin() const {
    return 10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  }
  size_t floats() const { return (bytes.size() - begin()) / sizeof(float); }
};

std::atomic<int> ran{0};

/// Threads of ours, the last task first.
void runTasks(void *, int64_t count, kedge_task task, void *context) {
  ran.fetch_add(1);
  std::vector<std::thread> threads;
  for (int64_t index = count - 1; index > 0; --index)
    threads.emplace_back(task, context, index);
  task(context, 0);
  for (std::thread &thread : threads)
    thread.join();
}

constexpr int kSteps = 40;

std::vector<double> losses(kedge::Session &session, const Rows &input, const Rows &labels,
                           int steps = kSteps) {
  std::vector<double> result;
  for (int step = 0; step < steps; ++step) {
    session.setInput("input", input.data(), static_cast<int64_t>(input.floats() / 10));
    session.setInput("labels", labels.data(), static_cast<int64_t>(input.floats() / 10));
    result.push_back(session.step().loss);
  }
  return result;
}

double tasteLoss(int steps) {
  kedge::Session session = taste::open({{"--lr", "0.01"}, {"--threads", "2"}});
  const float features[16] = {0.9f, 0.1f, 0.4f, 0.7f, 0.2f, 0.8f, 0.5f, 0.1f,
                              0.7f, 0.3f, 0.9f, 0.6f, 0.1f, 0.9f, 0.2f, 0.3f};
  const float answers[4] = {0.8f, 0.1f, 0.7f, 0.1f};
  for (int step = 0; step < steps; ++step) {
    session.setInput("features", features, 4);
    session.setInput("labels", answers, 4);
    session.step();
  }
  session.setInput("features", features, 4);
  session.setInput("labels", answers, 4);
  return session.evaluate();
}

void same(bool holds, const char *what) { std::printf("%s %s\n", what, holds ? "agree" : "DIFFER"); }

template <typename Call> void wrong(const char *what, Call &&call) {
  try {
    call();
    std::printf("%s: no error\n", what);
  } catch (const kedge::Error &error) {
    std::printf("%s: code %d: %s\n", what, error.code, error.what());
  }
}

/// A second half from a checkpoint is the second half of the whole. One session at a time has a folder.
void resumesAlone(const std::vector<double> &whole, const Rows &input, const Rows &labels,
                  const std::string &folder) {
  kedge::Session first = perceptron::open({{"--lr", "0.1"}, {"--threads", "2"}});
  losses(first, input, labels, kSteps / 2);
  first.checkpoint(folder);
  first.checkpoint(folder);
  kedge::Session beside = perceptron::open();
  wrong("two sessions in a folder", [&] { beside.checkpoint(folder); });
  kedge::Session second = perceptron::open({{"--lr", "0.1"}, {"--threads", "2"}});
  second.resume(folder);
  const std::vector<double> rest = losses(second, input, labels, kSteps / 2);
  same(std::equal(rest.begin(), rest.end(), whole.begin() + kSteps / 2), "resumed losses");
}

void resumes(const std::vector<double> &whole, const Rows &input, const Rows &labels,
             const std::string &folder) {
  resumesAlone(whole, input, labels, folder);
  wrong("a folder of other checkpoints", [&] { perceptron::open().checkpoint(folder); });
}

void states(kedge::Session &session) {
  std::vector<float> weight, again;
  for (const kedge_tensor &state : session.states())
    if (!std::strcmp(state.name, "hidden.weight")) {
      weight.resize(static_cast<size_t>(state.shape[0] * state.shape[1]));
      std::printf("hidden.weight is %lld x %lld\n", static_cast<long long>(state.shape[0]),
                  static_cast<long long>(state.shape[1]));
    }
  again = weight;
  session.getState("hidden.weight", weight);
  for (float &value : weight)
    value = 2 * value;
  session.setState("hidden.weight", weight);
  session.getState("hidden.weight", again);
  same(weight == again, "states");
}

void wrongCalls(kedge::Session &session, const Rows &input) {
  wrong("option", [] { perceptron::open({{"--data", "x.npy"}}); });
  wrong("number", [] { perceptron::open({{"--lr", "fast"}}); });
  wrong("schedule", [] { perceptron::open({{"--schedule", "cosine"}}); });
  wrong("model", [] { perceptron::open({{"--model", "nowhere.onnx"}}); });
  wrong("input", [&] { session.setInput("inputs", input.data(), 1); });
  wrong("no rows", [&] { session.setInput("input", input.data(), 0); });
  wrong("many rows", [&] { session.setInput("input", input.data(), int64_t(1) << 62); });
  session.setInput("input", input.data(), 8);
  wrong("no labels", [&] { session.step(); });
  session.setInput("labels", input.data(), 8);
  wrong("forgotten by a step", [&] { session.step(); });
  session.setInput("input", input.data(), 8);
  wrong("no labels again", [&] { session.evaluate(); });
  session.setInput("labels", input.data(), 8);
  wrong("forgotten by an evaluation", [&] { session.evaluate(); });
  session.setInput("input", input.data(), 8);
  session.setInput("labels", input.data(), 7);
  wrong("rows", [&] { session.step(); });
  std::vector<float> few(3);
  session.setInput("input", input.data(), 8);
  wrong("no output", [&] { session.predict("outputs", few); });
  wrong("forgotten by a prediction", [&] { session.predict(session.outputs()[0].name, few); });
  session.setInput("input", input.data(), 8);
  if (int code = kedge_set_input(session.get(), "input", nullptr, 0))
    throw kedge::Error(code, kedge_error(session.get()));
  wrong("taken back", [&] { session.predict(session.outputs()[0].name, few); });
  wrong("state", [&] { session.getState("hidden.weights", few); });
  wrong("size", [&] { session.getState("hidden.weight", few); });
  wrong("output", [&] { session.predict("outputs", few); });
  session.setInput("input", input.data(), 8);
  session.setInput("labels", input.data(), 8);
  wrong("place", [&] { session.predict(session.outputs()[0].name, few); });
  wrong("index", [&] {
    kedge_tensor tensor;
    if (int code = kedge_input_at(session.get(), 9, &tensor))
      throw kedge::Error(code, kedge_error(session.get()));
  });
  wrong("null", [&] {
    if (int code = kedge_checkpoint(session.get(), nullptr))
      throw kedge::Error(code, kedge_error(session.get()));
  });
  wrong("no checkpoint", [&] { session.resume("nowhere"); });
  kedge::Session limited = perceptron::open({{"--steps", "1"}});
  losses(limited, input, input, 1);
  wrong("end", [&] { losses(limited, input, input, 1); });
}

/// A session whose step went wrong is of no use until it resumes.
void breaks(kedge::Session &session, const Rows &input, const Rows &labels, const std::string &folder) {
  std::vector<float> bias(16, NAN);
  for (const kedge_tensor &state : session.states())
    if (!std::strcmp(state.name, "hidden.bias"))
      bias.assign(static_cast<size_t>(state.shape[0]), NAN);
  session.setState("hidden.bias", bias);
  wrong("not finite", [&] { losses(session, input, labels, 1); });
  wrong("broken", [&] { losses(session, input, labels, 1); });
  session.resume(folder);
  same(std::isfinite(losses(session, input, labels, 1)[0]), "a loss after resuming and a number");
}

} // namespace

int main(int, char **argv) {
  const std::string folder = argv[1], out = argv[2];
  const Rows input(folder + "/input.npy"), labels(folder + "/labels.npy");
  kedge::Session first({{"--lr", "0.1"}, {"--threads", "2"}}, perceptron_open);
  kedge::Session second({{"--lr", "0.1"}, {"--threads", "2"}}, runTasks, nullptr, perceptron_open_on);
  std::vector<double> mine, theirs;
  double other = 0;
  std::thread lent([&] { theirs = losses(second, input, labels); }),
      taste([&] { other = tasteLoss(kSteps); });
  mine = losses(first, input, labels);
  lent.join();
  taste.join();
  for (double loss : mine)
    std::printf("loss %.17g\n", loss);
  same(mine == theirs, "losses on threads of ours");
  same(other == tasteLoss(kSteps), "losses of the other model");
  same(ran > 0, "threads that were lent and threads that ran");
  first.exportOnnx(out + "/trained.onnx");
  resumes(mine, input, labels, out + "/checkpoints");
  states(first);
  wrongCalls(first, input);
  breaks(first, input, labels, out + "/checkpoints");
  return 0;
}
