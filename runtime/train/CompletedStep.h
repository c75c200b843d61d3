// An optimizer step together with its effects on the loss scale and on the progress of the run.
#pragma once
#include "runtime/train/LossScaler.h"
#include "runtime/train/Step.h"

namespace kedge::rt {

struct CompletedStep {
  StepResult result;
  LossScale before, after; ///< for a program that scales its loss
  bool skipped = false;    ///< no update was made
};

/// Runs the next step and counts it in `progress`. Throws as the source does, and
/// also if the loss scale has collapsed or a skipped step has left non-finite values.
CompletedStep completeStep(StepSource &source, Executor &executor, LossScaler &scaler, const World &world,
                           RunProgress &progress);

/// What happens in a step with non-finite values. `skips`: --on-nan continue.
NonFiniteStep whenNonFinite(const LossScaler &scaler, bool skips);

/// Throws if --on-nan continue asks for something that the program cannot do.
void checkSkipsUpdates(const Program &program);

} // namespace kedge::rt
