// kedge-bench step: what scripts that time PyTorch print, for a compiled program.
#include "lib/Support/Error.h"
#include "lib/Support/TemporaryFolder.h"
#include "tools/kedge-bench/Commands.h"
#include "tools/kedge-bench/ProcessorPeak.h"
#include "tools/kedge-bench/SyntheticData.h"
#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
using namespace kedge;
namespace fs = std::filesystem;
using Json = nlohmann::json;

struct StepFlags {
  std::string model, precision = "fp32", loss = "cross-entropy";
  std::vector<std::string> shapes, compileFlags;
  int threads = 2, steps = 8, vocabulary = 50257;
};

struct Run {
  double seconds = 0, processorSeconds = 0;
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
  const auto secondsOf = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {took.count(), secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime),
          int64_t(usage.ru_maxrss) * 1024};
}

/// Seconds of every step that a program logged, and its last entry.
std::vector<double> readLog(const fs::path &file, Json &last) {
  std::vector<double> seconds;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (Json entry = Json::parse(line); entry.contains("step") && entry.contains("seconds")) {
      seconds.push_back(entry["seconds"]);
      last = entry;
    }
  return seconds;
}

double medianOf(const std::vector<double> &sorted) {
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

void step(const StepFlags &options) {
  const TemporaryFolder scratch("kedge-bench");
  const fs::path &folder = scratch.path();
  fs::path program = folder / "program", log = folder / "log.jsonl", ir = folder / "ir";
  std::string kedge = (fs::read_symlink("/proc/self/exe").parent_path() / "kedge").string();
  std::vector<std::string> compile{kedge,        "compile",     options.model,    "--loss",
                                   options.loss, "--precision", options.precision};
  for (const std::string &shape : options.shapes)
    compile.insert(compile.end(), {"--shape", shape});
  compile.insert(compile.end(), options.compileFlags.begin(), options.compileFlags.end());
  compile.insert(compile.end(), {"--save-ir", ir.string(), "-o", program.string()});
  double compileSeconds = runProcess(compile, folder / "compile.txt").seconds;
  // What scripts that time PyTorch subtract: what is resident when program and libraries are loaded, before
  // the model.
  int64_t loadedBytes = runProcess({program.string(), "--plan"}, folder / "plan.json").peakBytes;
  const double peak = bench::multiplyAddRate(options.threads);
  const size_t warmUp = 3, steps = static_cast<size_t>(options.steps) + warmUp;
  const bench::SyntheticInputs inputs =
      bench::writeSyntheticInputs(ir / "03-schedule.mlir", folder, options.vocabulary);
  std::vector<std::string> command{
      program.string(), "--steps",   std::to_string(steps), "--threads", std::to_string(options.threads),
      "--log",          log.string()};
  for (const std::string &data : inputs.data)
    command.insert(command.end(), {"--data", data});
  Run run = runProcess(command, folder / "run.txt");
  Json last;
  std::vector<double> seconds = readLog(log, last);
  if (seconds.size() != steps)
    fail("{}: expected {} steps in the log, found {}", options.model, steps, seconds.size());
  double first = seconds.front();
  seconds.erase(seconds.begin(), seconds.begin() + warmUp);
  std::sort(seconds.begin(), seconds.end());
  const double median = medianOf(seconds);
  Json plan = Json::parse(std::ifstream(folder / "plan.json"));
  Json result{{"precision", options.precision},
              {"mode", "kedge"},
              {"seconds", median},
              {"best_seconds", seconds.front()},
              {"samples_per_second", static_cast<double>(inputs.batch) / median},
              {"first_step_seconds", first},
              {"peak_bytes", run.peakBytes - loadedBytes},
              {"loss", last["loss"]},
              {"batch", inputs.batch},
              {"threads", options.threads},
              {"compile_seconds", compileSeconds},
              {"processor_seconds", run.processorSeconds}};
  if (inputs.tokens)
    result["tokens_per_second"] = static_cast<double>(inputs.tokens) / median;
  // By the definitions of the operators: kernels with fewer multiplications can be above the peak.
  const double flops = plan.at("flops").get<double>();
  result["flops"] = flops;
  result["fp32_peak_flops_per_second"] = peak;
  result["fp32_peak_share"] = flops / median / peak;
  result["parameters"] = plan.at("state_bytes").at("parameters").get<int64_t>() / int64_t(sizeof(float));
  fmt::print("{}\n", result.dump());
}
} // namespace

void kedge::bench::addStepCommand(CLI::App &app) {
  CLI::App *command = app.add_subcommand("step", "time the training step of a model on random data");
  auto options = std::make_shared<StepFlags>();
  command->add_option("--model", options->model, "FILE.onnx")->required();
  command
      ->add_option("--shape", options->shapes,
                   "INPUT=4x3x224x224: shapes of the inputs, as kedge compile takes them")
      ->required();
  command->add_option("--loss", options->loss,
                      "cross-entropy (the default), mse...: as kedge compile takes it");
  command->add_option("--threads", options->threads, "threads of the program")->check(CLI::PositiveNumber);
  command->add_option("--precision", options->precision,
                      "fp32 (the default), bf16, fp16 or fp8: as kedge compile takes it");
  command->add_option("--steps", options->steps, "steps to time, after 3 others")->check(CLI::PositiveNumber);
  command
      ->add_option("--vocabulary", options->vocabulary,
                   "random integers, classes as well as tokens, are below this (50257)")
      ->check(CLI::PositiveNumber);
  command->add_option("flags", options->compileFlags, "after --: more flags of kedge compile");
  command->callback([=] { step(*options); });
}
