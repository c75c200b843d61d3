// An optimizer step with what follows from it: the loss scale, and where the run stands.
#pragma once
#include "runtime/train/LossScaler.h"
#include "runtime/train/Step.h"

namespace kedge::rt {

struct CompletedStep {
  StepResult result;
  LossScale before, after; ///< of a program that scales its loss
  bool skipped = false;    ///< no update was made
};

/// Runs the step that `progress` is at, and counts it. Throws as StepRunner::run does, and when the loss scale has collapsed
/// or a skipped step has left values that are not finite.
CompletedStep completeStep(StepRunner &runner, Executor &executor, LossScaler &scaler, const World &world, Progress &progress);

/// What becomes of a step whose values are not finite. `skips`: --on-nan continue.
NonFiniteStep whenNonFinite(const LossScaler &scaler, bool skips);

/// Throws where --on-nan continue asks for what the program cannot do.
void checkSkipsUpdates(const Program &program);

} // namespace kedge::rt
