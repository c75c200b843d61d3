// The training loop: step, evaluation, log line, checkpoint, in this order.
#include "runtime/io/Error.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/Display.h"
#include "runtime/train/FiniteStates.h"
#include "runtime/train/LossScaler.h"
#include "runtime/train/Session.h"
#include "runtime/train/Signals.h"
#include <chrono>
#include <cmath>

namespace kedge::rt {
namespace {

void printEvaluation(double loss, const std::vector<MetricValue> &metrics) {
  std::puts(fmt::format("eval loss {}", loss).c_str());
  for (const MetricValue &metric : metrics)
    std::puts(fmt::format("eval {} {}", metricName(metric.kind), metric.value).c_str());
}

} // namespace

LogLine Session::runStep(StepRunner &runner) {
  const auto begin = std::chrono::steady_clock::now();
  const LossScale before = scaler->isActive() ? scaler->read() : LossScale();
  const StepResult result = runner.run(progress);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  signal = result.signal;
  if (result.items == 0 && !warnedEmpty && world.isFirst()) {
    fmt::print(stderr,
               "kedge: warning: step {} has no item: every label is ignored; loss and gradient are 0\n",
               progress.step);
    warnedEmpty = true;
  }
  const CompileOptions &compiled = program.options;
  const int64_t rows = rowsInStep(world, compiled.batch, compiled.accumulate);
  LogLine line;
  line.step = progress.step;
  line.loss = result.loss;
  if (!compiled.trainingInfo) {
    line.lr = learningRate(scalars, progress.step);
    line.gradNorm = result.gradNorm;
  }
  line.lossScale = before.scale;
  if (scaler->isActive()) {
    const LossScale after = scaler->read();
    scaler->checkNotCollapsed(before, after, progress.step);
    line.skipped = after.optimizerSteps == before.optimizerSteps;
    line.growthCounter = after.growthCounter;
  }
  line.skipped |= result.skipped;
  if (!line.skipped && result.gradNorm && !std::isfinite(*result.gradNorm))
    fail("the norm of the gradients of step {} is not finite ({}), and they are: the sum of their squares is beyond fp32; a "
         "lower --lr or a longer --warmup may help",
         line.step, *result.gradNorm);
  if (line.skipped && !scaler->isActive())
    checkStatesFinite(*executor, line.step, "a skipped step cannot undo that");
  ++progress.step;
  progress.optimizerSteps += line.skipped ? 0 : 1;
  progress.samples += rows;
  line.optimizerSteps = progress.optimizerSteps;
  line.seconds = taken.count();
  line.tokensPerSecond = static_cast<double>(rows) * compiled.tokensPerRow / std::max(taken.count(), 1e-9);
  line.memoryBytes = program.arenaBytes + executor->device().extraWorkspaceBytes();
  return line;
}

std::optional<double> Session::evaluateIfDue() {
  const bool due =
      progress.step == scalars.steps || (options.evalEvery != 0 && progress.step % options.evalEvery == 0);
  if (!evaluator || !due)
    return std::nullopt;
  return evaluator->loss(progress);
}

void Session::checkpointIfDue(bool interrupted) {
  const bool due = progress.step == scalars.steps || interrupted ||
                   (options.checkpointEvery != 0 && progress.step % options.checkpointEvery == 0);
  if (options.checkpointDir.empty() || !due)
    return;
  checkStatesFinite(*executor, progress.step - 1, "no checkpoint of this state is written");
  writeCheckpoint(options.checkpointDir, *executor, progress, scalars, checkpoints, options.keep);
  savedStep = progress.step;
}

/// What was trained is not lost with a data file. Ranks cannot agree on it any more: the others wait in the step.
void Session::saveBefore(const StepNotBegun &reason) {
  if (ranks || options.checkpointDir.empty() || stepsRun == 0)
    fail("{}", reason.what());
  if (savedStep != progress.step)
    checkpointIfDue(/*interrupted=*/true);
  fail("{}; what was trained is in '{}'", reason.what(), folderOfStep(options.checkpointDir, progress.step));
}

NonFiniteStep Session::whenNonFinite() const {
  if (scaler->isActive())
    return NonFiniteStep::Passes;
  return options.continueOnNan ? NonFiniteStep::Skips : NonFiniteStep::Ends;
}

int Session::train() {
  if (progress.step >= scalars.steps) {
    if (evaluator)
      if (const std::optional<double> loss = evaluator->loss(progress); loss && world.isFirst())
        printEvaluation(*loss, evaluator->values());
    return signal = static_cast<int>(maxOverRanks(ranks, caughtSignal()));
  }
  StepRunner runner(*executor, *data, scalars, world, whenNonFinite());
  gradients = std::make_unique<GradientTools>(*executor, options);
  if (gradients->needed())
    runner.watch(gradients.get());
  Display display(scalars.steps, world.isFirst());
  signal = static_cast<int>(maxOverRanks(ranks, caughtSignal()));
  for (int64_t done = 0; progress.step < scalars.steps && signal == 0; ++done) {
    LogLine line;
    try {
      line = runStep(runner);
    } catch (const StepNotBegun &reason) {
      display.finish();
      saveBefore(reason);
    } catch (...) {
      display.finish();
      throw;
    }
    gradients->finishStep(line.step);
    meter.noteStep(done);
    ++stepsRun;
    line.evalLoss = evaluateIfDue();
    if (line.evalLoss)
      line.metrics = evaluator->values();
    if (evaluator)
      signal = std::max(signal, evaluator->stoppedBy());
    if (log)
      log->write(line);
    display.step(line);
    if (!ranks)
      signal = caughtSignal(); // a rank's display that is lost is agreed on in the next step
    checkpointIfDue(signal != 0);
  }
  display.finish();
  const bool evaluated = !evaluator || evaluator->stoppedBy() == 0;
  return signal = progress.step < scalars.steps || !evaluated ? signal : 0;
}

} // namespace kedge::rt
