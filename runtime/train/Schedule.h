// Computes learning rates, and sets the scalars that kernels read.
#pragma once
#include "runtime/exec/Executor.h"
#include "runtime/program/Options.h"
#include "runtime/program/World.h"

namespace kedge::rt {

/// Run-time scalars with all defaults filled in.
struct RunScalars {
  int64_t steps = 0, decaySteps = 0, warmup = 0, seed = 0;
  bool decayStepsGiven = false;
  double lr = 0, minLr = 0, warmupStart = 0, weightDecay = 0, beta1 = 0, beta2 = 0, eps = 0;
  double dpoBeta = 0; ///< of a preference loss; 0: the program has none
  ScheduleKind schedule = ScheduleKind::Constant;
  std::optional<int64_t> shuffle;
};

/// Uses the flags given now, then those that a checkpoint saved, then the program's
/// defaults. Throws for wsd without --decay-steps, and for a wsd decay longer than the run.
RunScalars resolveScalars(const ScalarOptions &given, const ScalarOptions &saved,
                          const CompiledOptions &program);

/// The learning rate of step s (docs/programs.md).
double learningRate(const RunScalars &scalars, int64_t step);

/// Values that change from one function call to the next.
struct StepPoint {
  int64_t step = 0;           ///< s
  int64_t optimizerSteps = 0; ///< number of updates before this step
  int64_t micro = 0;          ///< number of the micro-batch
  World world;
  double items = 0; ///< in the step, if known
};

/// Writes all scalars that the program lists.
class ScalarWriter {
public:
  /// Throws rt::RuntimeError for a scalar that this runtime does not know.
  explicit ScalarWriter(const Program &program);
  void write(Executor &executor, const RunScalars &scalars, const StepPoint &point) const;

private:
  const Program &program;
};

} // namespace kedge::rt
