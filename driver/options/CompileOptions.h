// What plan and compile are told beyond the model: optimizer, precision, memory, ranks, output.
#pragma once
#include "driver/options/AddedPasses.h"
#include "driver/options/MemoryOptions.h"
#include "driver/options/ModelOptions.h"
#include "driver/options/OptionWords.h"
#include "driver/options/ParameterOptions.h"
#include "passes/Pipelines/Pipelines.h"
#include <algorithm>
#include <map>
#include <memory>
#include <set>

namespace kedge::driver {

/// Options by name, with their values; a flag's is "".
using SavedArguments = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Defaults of the program's --schedule and what belongs to it; those not given are the program's own.
struct ScheduleDefaults {
  std::optional<std::string> kind;
  std::optional<int64_t> warmup, decaySteps;
  std::optional<double> warmupStart, minLr;
};

/// --auto and its kin.
struct AutoOptions {
  bool on = false, explains = false;
  std::set<std::string> fixed; ///< flags that were given: what they say is not searched over
};

/// What a compilation says that is one of several.
enum class Trial {
  None,
  Repeats, ///< lint's findings have been printed
  Silent,  ///< and nobody may choose it: passes say nothing either
};

/// What a program starts from: it has options of its own for all of it.
struct RunDefaults {
  std::optional<double> lr;               ///< default: the optimizer's
  std::optional<double> momentum;         ///< default: 0.95 for muon, else 0
  std::optional<double> eps, weightDecay; ///< defaults are the optimizer's
  std::vector<double> betas;              ///< empty: the optimizer's
  ScheduleDefaults schedule;
  int64_t seed = 0;
};

/// What the program runs on.
struct MachineOptions {
  std::string target = "cpu"; ///< or cuda, with an architecture or without
  lower::Convolutions convolution = lower::Convolutions::Auto;
  bool sideStream = true, dependentLaunch = true, geluSums = true; ///< of a GPU
  std::vector<std::string> cpus;                                   ///< --cpu; empty: this machine's
  CLibrary libc = CLibrary::Shared;
  std::string link; ///< --link; empty: as the device says
};

/// What is written, and where.
struct OutputOptions {
  Emit emit = Emit::Exe;
  std::string path; ///< -o
  std::string saveIr, report, arenaFile, launchFile, depfile;
  std::string algorithms;  ///< an algorithm table that goes into the program; empty: none
  bool withPlaces = false; ///< --emit as --save-ir writes it
  std::string only;        ///< --only: the function or module whose text --emit prints
  bool embedWeights = false, printPipeline = false;
};

/// What kedge plan is asked for.
struct PlanOptions {
  bool json = false, compare = false;
  std::string maxBatchInput, maxSeqInput; ///< --max-batch, --max-seq
  std::optional<double> maxAddedTime;     ///< --max-added-time: a share of the step's time
  std::string checkFile;                  ///< --check
  std::optional<int64_t> rank;            ///< --rank: of a pipeline, the one that is asked about
};

/// Options of the passes are as given; stepOptions says what they are without.
struct CompileOptions : pipelines::StepOptions {
  ModelOptions model;
  MemoryOptions memory;
  MachineOptions machine;
  RunDefaults run;
  OutputOptions output;
  PlanOptions plan;
  AutoOptions joint;
  std::vector<rt::NameRule> weightDecayExclude;
  std::vector<RateScale> lrScale;
  std::string mup; ///< a file of the model with the widths that rates were found for
  std::vector<pipelines::Precision>
      precisions;             ///< as given: plan --compare takes several, `precision` is the first
  std::string givenLossScale; ///< --loss-scale: dynamic, a number, or "" when not given
  std::vector<std::string> lossScaleOptions; ///< those of --loss-scale-... that were given
  int64_t parts = 1;                         ///< of `sameBits`, those of one rank; `accumulate` counts them
  std::optional<Replicas> replicas;          ///< whole copies of the state; none: as --mesh says
  std::string givenConfiguration;            ///< --configuration, as given
  /// Numbers of ranks that the program has a plan for, of which this is one; empty: this alone.
  std::vector<int64_t> worlds;
  std::string deepSpeedConfig;       ///< a file whose options have been applied
  std::optional<int64_t> microBatch; ///< rows of a micro-batch that it counts on
  /// Options that were given and say how to train: a model with training_info says it itself.
  std::vector<std::string> trainingOptions;
  std::vector<AddedPasses> passesBefore, passesAfter;
  SavedArguments arguments; ///< for --save-ir
  /// The file of --save-ir that MODEL was; `model.model` is then the ONNX file it was made of.
  std::string resumedFrom;
  Trial trial = Trial::None;
  /// The notes that were printed, of all compilations that copies of these options make.
  std::shared_ptr<std::set<std::string>> told = std::make_shared<std::set<std::string>>();

  bool isTrial() const { return trial != Trial::None; }
  void setRepeats(bool repeats) {
    if (trial != Trial::Silent)
      trial = repeats ? Trial::Repeats : Trial::None;
  }
  bool isPipelined() const { return model.meshOfRanks().sizeOf(rt::Mesh::kPipeline) > 1; }
  bool onGpu() const { return machine.target != "cpu"; }
  /// --device, or what predicted times are of without it; empty: this machine.
  std::string deviceName() const;
  // What the optimizers of PyTorch and bitsandbytes have.
  double lrOrDefault() const;
  double weightDecayOrDefault() const;
  double momentumOrDefault() const;
  double epsOrDefault() const;
  std::vector<double> betasOrDefault() const;
};

/// --master-weights off where it means something: bf16 under `master`, parameters whole on every rank. Throws
/// kedge::Error.
void checkPrecision(const CompileOptions &options);
/// Options that the optimizer does not go with. Throws kedge::Error.
void checkOptimizer(const CompileOptions &options);

} // namespace kedge::driver
