#include "runtime/train/CompletedStep.h"
#include "runtime/io/Error.h"
#include "runtime/train/FiniteStates.h"
#include <cmath>

namespace kedge::rt {

NonFiniteStep whenNonFinite(const LossScaler &scaler, bool skips) {
  if (scaler.isActive())
    return skips ? NonFiniteStep::Passes : NonFiniteStep::Scales;
  return skips ? NonFiniteStep::Skips : NonFiniteStep::Ends;
}

void checkSkipsUpdates(const Program &program) {
  if (!program.state("scaler.loss_scale") && !canSkipUpdates(program))
    fail("--on-nan continue: this program updates each parameter as soon as its gradient is there, and "
         "cannot leave a step's "
         "updates out; compile it with --clip-norm or --accumulate, which hold all gradients until they are "
         "checked");
}

CompletedStep completeStep(StepSource &source, Executor &executor, LossScaler &scaler, const World &world,
                           RunProgress &progress) {
  CompletedStep step;
  step.before = scaler.isActive() ? scaler.read() : LossScale();
  step.result = source.run(progress);
  if (scaler.isActive()) {
    step.after = scaler.read();
    if (const auto collapse = scaler.collapse(step.before, step.after, progress.step)) {
      scaler.write(step.before); // at which the step overflowed
      source.explainOverflow(progress, step.result, collapse->head, collapse->remedy);
    }
    step.skipped = step.after.optimizerSteps == step.before.optimizerSteps;
  }
  step.skipped |= step.result.skipped;
  const std::optional<double> norm = step.result.gradNorm;
  if (!step.skipped && norm && !std::isfinite(*norm))
    fail("the gradients of step {} are finite, but their norm is not ({}): the sum of their squares is too "
         "large for fp32; a "
         "lower --lr or a longer --warmup may help",
         progress.step, *norm);
  if (step.skipped && !scaler.isActive())
    checkStatesFinite(executor, progress.step, "a skipped step cannot undo that");
  const CompiledOptions &compiled = executor.program().options;
  ++progress.step;
  progress.optimizerSteps += step.skipped ? 0 : 1;
  progress.samples += rowsInStep(world, compiled.batch, compiled.accumulate);
  return step;
}

} // namespace kedge::rt
