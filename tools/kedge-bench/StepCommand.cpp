// kedge-bench step: what scripts that time PyTorch print, for a compiled program.
#include "Commands.h"
#include "kedge/Support/Error.h"
#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
using namespace kedge;
namespace fs = std::filesystem;
using Json = nlohmann::json;

struct StepFlags {
  std::string model, precision = "fp32";
  std::vector<std::string> shapes;
  int threads = 2, steps = 8, vocabulary = 50257;
};

struct Run {
  double seconds = 0;
  int64_t peakBytes = 0; ///< largest resident set of the process
};

/// Runs a program to its end; its standard output goes to `output`, its errors to ours.
Run runProcess(const std::vector<std::string> &command, const fs::path &output) {
  std::vector<char *> argv;
  for (const std::string &word : command)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  auto begin = std::chrono::steady_clock::now();
  pid_t child = fork();
  if (child < 0)
    fail("{}: no process can be started", command.front());
  if (child == 0) {
    int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, 1) < 0)
      _exit(126);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    fail("{} ended with status {}: see the messages above", fmt::join(command, " "),
         WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return {took.count(), int64_t(usage.ru_maxrss) * 1024};
}

/// A folder of our own that goes away again.
struct ScratchFolder {
  fs::path path;
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "kedge-bench-XXXXXX").string();
    if (!mkdtemp(name.data()))
      fail("{}: no folder can be made there", fs::temp_directory_path().string());
    path = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

/// batch and length of NAME=BxT.
std::pair<int64_t, int64_t> batchAndLength(const std::string &shape) {
  long long batch = 0, length = 0;
  size_t at = shape.find('=');
  if (at == std::string::npos || sscanf(shape.c_str() + at + 1, "%lldx%lld", &batch, &length) != 2 || batch < 1 ||
      length < 1)
    fail("--shape: expected INPUT=BATCHxLENGTH of tokens, found '{}'", shape);
  return {batch, length};
}

void writeTokens(const fs::path &file, const StepFlags &options, int64_t count) {
  std::mt19937 random(0);
  std::ofstream out(file, std::ios::binary);
  for (int64_t i = 0; i < count; ++i) {
    auto token = static_cast<uint16_t>(random() % options.vocabulary);
    out.write(reinterpret_cast<const char *>(&token), sizeof token);
  }
  if (!out.flush())
    fail("{}: cannot be written", file.string());
}

void step(const StepFlags &options) {
  auto [batch, length] = batchAndLength(options.shapes.front());
  ScratchFolder folder;
  fs::path program = folder.path / "program", log = folder.path / "log.jsonl", tokens = folder.path / "tokens";
  std::string kedge = (fs::read_symlink("/proc/self/exe").parent_path() / "kedge").string();
  std::vector<std::string> compile{kedge, "compile", options.model, "--loss", "cross-entropy", "--precision", options.precision, "-o",
                                   program.string()};
  for (const std::string &shape : options.shapes)
    compile.insert(compile.end(), {"--shape", shape});
  double compileSeconds = runProcess(compile, folder.path / "compile.txt").seconds;
  // What scripts that time PyTorch subtract: what is resident when program and libraries are loaded, before the model.
  int64_t loadedBytes = runProcess({program.string(), "--plan"}, folder.path / "plan.json").peakBytes;
  int64_t warmUp = 3, steps = options.steps + warmUp;
  writeTokens(tokens, options, steps * batch * length + 1);
  Run run = runProcess({program.string(), "--tokens", tokens.string(), "--steps", std::to_string(steps), "--threads",
                        std::to_string(options.threads), "--log", log.string()},
                       folder.path / "run.txt");
  std::vector<double> seconds;
  Json last;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (Json entry = Json::parse(line); entry.contains("step") && entry.contains("seconds")) {
      seconds.push_back(entry["seconds"]);
      last = entry;
    }
  if (static_cast<int64_t>(seconds.size()) != steps)
    fail("{}: expected {} steps in the log, found {}", options.model, steps, seconds.size());
  double first = seconds.front();
  std::sort(seconds.begin() + warmUp, seconds.end());
  size_t middle = warmUp + options.steps / 2;
  double median = options.steps % 2 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  Json plan = Json::parse(std::ifstream(folder.path / "plan.json"));
  Json result{{"precision", options.precision}, {"mode", "kedge"}, {"seconds", median},
              {"tokens_per_second", batch * length / median}, {"first_step_seconds", first},
              {"peak_bytes", run.peakBytes - loadedBytes}, {"loss", last["loss"]}, {"batch", batch}, {"length", length},
              {"threads", options.threads}, {"compile_seconds", compileSeconds}};
  result["parameters"] = plan.at("state_bytes").at("parameters").get<int64_t>() / int64_t(sizeof(float));
  fmt::print("{}\n", result.dump());
}
} // namespace

void kedge::bench::addStepCommand(CLI::App &app) {
  CLI::App *command = app.add_subcommand("step", "time the training step of a language model");
  auto options = std::make_shared<StepFlags>();
  command->add_option("--model", options->model, "FILE.onnx")->required();
  command->add_option("--shape", options->shapes, "INPUT=4x64: batch and length of the token input")->required();
  command->add_option("--threads", options->threads, "threads of the program")->check(CLI::PositiveNumber);
  command->add_option("--precision", options->precision, "fp32 (the default), bf16 or fp16: as kedge compile takes it");
  command->add_option("--steps", options->steps, "steps to time, after 3 others")->check(CLI::PositiveNumber);
  command->add_option("--vocabulary", options->vocabulary, "random tokens lie below this")
      ->check(CLI::Range(1, 65536));
  command->callback([=] { step(*options); });
}
