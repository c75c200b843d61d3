// An application that plans, compiles and trains in its own process, twice at once: both MODEL INPUT LABELS
// FOLDER. Each thread has a compiler and a session of its own; their reports and losses have the same bits.
#include "kedge/compiler.hpp"
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <thread>

namespace {

constexpr int kSteps = 20;
constexpr size_t kHeader = 128; // of these .npy files

std::vector<char> bytesOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A library of --emit lib, and its functions by name.
class Model {
public:
  explicit Model(const std::string &path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle)
      throw std::runtime_error(dlerror());
  }
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  ~Model() { dlclose(handle); }

  /// The function of session.h that has this name.
  template <typename Function> Function *of(const char *name) const {
    return reinterpret_cast<Function *>(dlsym(handle, name));
  }

private:
  void *handle;
};

struct Made {
  std::string report;
  std::vector<double> losses;
  std::string error;
};

std::vector<double> train(const Model &model, const std::vector<char> &input,
                          const std::vector<char> &labels) {
  const kedge_option options[] = {{"--lr", "0.1"}, {"--threads", "2"}, {nullptr, nullptr}};
  kedge_session *session = nullptr;
  if (model.of<decltype(kedge_open)>("kedge_open")(options, &session) != KEDGE_OK)
    throw std::runtime_error(model.of<decltype(kedge_error)>("kedge_error")(session));
  const auto set = model.of<decltype(kedge_set_input)>("kedge_set_input");
  const auto step = model.of<decltype(kedge_step)>("kedge_step");
  const auto rows = static_cast<int64_t>((input.size() - kHeader) / sizeof(float) / 10);
  std::vector<double> losses;
  for (int k = 0; k < kSteps; ++k) {
    kedge_step_result result{};
    set(session, "input", input.data() + kHeader, rows);
    set(session, "labels", labels.data() + kHeader, rows);
    if (step(session, &result) != KEDGE_OK)
      throw std::runtime_error(model.of<decltype(kedge_error)>("kedge_error")(session));
    losses.push_back(result.loss);
  }
  model.of<decltype(kedge_close)>("kedge_close")(session);
  return losses;
}

void make(char **words, const std::string &folder, Made &made) {
  try {
    kedge::Compiler compiler;
    size_t told = 0;
    compiler.onMessage([&](const kedge_message &message) { told += std::strlen(message.text); });
    const kedge::Compiler::Flags training = {
        {"--shape", "input=8x10"}, {"--loss", "mse"}, {"--optimizer", "sgd"}};
    made.report = compiler.plan(words[1], training);
    kedge::Compiler::Flags library = training;
    library.push_back({"--emit", "lib"});
    compiler.compile(words[1], library, folder + "/perceptron");
    const Model model(folder + "/libperceptron.so");
    made.losses = train(model, bytesOf(words[2]), bytesOf(words[3]));
  } catch (const std::exception &error) {
    made.error = error.what();
  }
}

} // namespace

int main(int, char **words) {
  Made made[2];
  std::thread threads[2];
  for (int k = 0; k < 2; ++k)
    threads[k] =
        std::thread([&, k] { make(words, std::string(words[4]) + "/" + std::to_string(k), made[k]); });
  for (std::thread &thread : threads)
    thread.join();
  for (const Made &one : made)
    if (!one.error.empty())
      std::printf("error: %s\n", one.error.c_str());
  const bool same = made[0].report == made[1].report && made[0].losses == made[1].losses;
  std::printf("%s: a report of %zu letters, %zu losses\n", same ? "the same twice" : "they differ",
              made[0].report.size(), made[0].losses.size());
  std::printf("losses:");
  for (double loss : made[0].losses)
    std::printf(" %.9g", loss);
  std::printf("\n");
  return same ? 0 : 1;
}
