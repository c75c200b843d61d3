// The options of a compiled program.
#pragma once
#include "runtime/format/Tensor.h"
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt {

enum class ScheduleKind : uint8_t { Constant, Linear, Cosine, Wsd, OneCycle };

/// INPUT=FILE; `name` is empty if only FILE was given.
struct NamedFile {
  std::string name, file;
};

/// REGEX=zeros|ones|normal:STD|uniform:A
struct InitSpec {
  std::string pattern;
  enum class Kind : uint8_t { Zeros, Ones, Normal, Uniform } kind = Kind::Zeros;
  double amount = 0;
};

/// Run-time scalars. Missing ones come from the checkpoint, otherwise from the program's defaults.
struct ScalarOptions {
  std::optional<int64_t> steps, decaySteps, warmup, seed;
  std::optional<double> lr, minLr, warmupStart, weightDecay, beta1, beta2, eps, dpoBeta;
  std::optional<ScheduleKind> schedule;
  std::optional<int64_t> shuffle;
};

/// --sample and what belongs to it.
struct SampleOptions {
  std::string prompt, tokenizer;  ///< no prompt: no sample
  int64_t tokens = 100, topK = 0; ///< topK 0: all tokens may come
  double temperature = 0.8;       ///< 0: the likeliest token
};

struct Options {
  std::vector<NamedFile> data, tokens, evalData, evalTokens, predict;
  std::string documents, evalDocuments; ///< of the token files
  bool maskPrompt = false, shiftLabels = false;
  int64_t findRate = 0; ///< --find-lr: steps of a range test; 0: train
  int64_t epochs = 0;   ///< 0: --steps says how long
  int64_t evalEvery = 0;
  std::vector<std::string> metrics; ///< --metric
  std::string keepBest;
  int64_t stopAfter = 0; ///< number of evaluations without improvement; 0: never stop
  ScalarOptions scalars;
  std::string model, weights, adapter;
  bool weightsPartial = false;
  std::vector<InitSpec> init;
  std::string checkpointDir, resumeDir;
  std::string offloadDir; ///< --offload-dir; empty: as compiled
  int64_t checkpointEvery = 0, keep = 2;
  bool resume = false;
  std::string exportOnnx, exportOnnxAdapters, exportSafetensors, exportAdapter;
  std::optional<DType>
      exportType; ///< float type in --export-safetensors; nothing: the type in which states are held
  bool exportTrainingMode = false;
  bool exportQuantized = false;
  /// Which form of the model --export-onnx writes.
  const char *exportMode() const {
    return exportQuantized ? "quantized" : exportTrainingMode ? "training" : "inference";
  }
  std::string log, tensorboard, profile, memoryReport;
  SampleOptions sample;
  bool plan = false;
  int threads = 0;         ///< 0: the number of physical cores
  double commTimeout = 30; ///< seconds
  bool sharedGpu = false;
  bool continueOnNan = false;
  bool evalAverage = false, exportAverage = false; ///< --eval-ema, --export-ema
  std::string dumpGradients, traceValues;
  int64_t dumpStep = 0;
  std::map<int64_t, double> inject; ///< step -> inf, -inf, nan
  std::string asGiven;              ///< the arguments, one per line
};

/// A name may have '=' in it: the file begins behind the first one that ends a name which the program knows.
void splitAtNames(std::vector<NamedFile> &files, const std::function<bool(const std::string &)> &isKnown);

/// The exit code if the program should end now (as after --help), else nothing. `speaks`: whether to print
/// help.
std::optional<int> parseOptions(int argc, char **argv, const std::string &programName, Options &options,
                                bool speaks = true);

/// The names of these options, as "--steps".
std::vector<std::string> programFlags();

/// In the order of ScheduleKind.
const std::vector<std::string> &scheduleNames();
std::string scheduleName(ScheduleKind kind);
ScheduleKind parseSchedule(const std::string &name);

} // namespace kedge::rt
