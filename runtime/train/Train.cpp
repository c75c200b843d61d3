// The training loop: step, evaluation, log line, checkpoint, in this order.
#include "runtime/io/Error.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/CompletedStep.h"
#include "runtime/train/Display.h"
#include "runtime/train/FiniteStates.h"
#include "runtime/train/Session.h"
#include "runtime/train/Signals.h"
#include <chrono>

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
  const CompletedStep step = completeStep(runner, *executor, *scaler, world, progress);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  signal = step.result.signal;
  LogLine line;
  line.step = progress.step - 1;
  if (step.result.items == 0 && !warnedEmpty && world.isFirst()) {
    fmt::print(stderr, "kedge: warning: step {} has no item: every label is ignored; loss and gradient are 0\n", line.step);
    warnedEmpty = true;
  }
  const CompileOptions &compiled = program.options;
  line.loss = step.result.loss;
  if (!compiled.trainingInfo) {
    line.lr = learningRate(scalars, line.step);
    line.gradNorm = step.result.gradNorm;
  }
  line.lossScale = step.before.scale;
  line.growthCounter = scaler->isActive() ? step.after.growthCounter : 0;
  line.skipped = step.skipped;
  line.optimizerSteps = progress.optimizerSteps;
  line.seconds = taken.count();
  const auto rows = static_cast<double>(rowsInStep(world, compiled.batch, compiled.accumulate));
  line.tokensPerSecond = rows * compiled.tokensPerRow / std::max(taken.count(), 1e-9);
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

int Session::train() {
  if (progress.step >= scalars.steps) {
    if (evaluator)
      if (const std::optional<double> loss = evaluator->loss(progress); loss && world.isFirst())
        printEvaluation(*loss, evaluator->values());
    return signal = static_cast<int>(maxOverRanks(ranks, caughtSignal()));
  }
  StepRunner runner(*executor, *data, scalars, world, whenNonFinite(*scaler, options.continueOnNan));
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
