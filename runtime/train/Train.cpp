// The training loop: step, evaluation, log line, checkpoint, in this order.
#include "runtime/io/Error.h"
#include "runtime/io/Say.h"
#include "runtime/platform/DisplacedThreads.h"
#include "runtime/platform/Process.h"
#include "runtime/train/CompletedStep.h"
#include "runtime/train/FiniteStates.h"
#include "runtime/train/RateTest.h"
#include "runtime/train/Session.h"
#include "runtime/train/Signals.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "runtime/train/output/TraceValues.h"
#include "runtime/train/report/Display.h"
#include "runtime/train/weights/Averages.h"
#include <chrono>
#include <cmath>

namespace kedge::rt {
namespace {

void printEvaluation(double loss, const std::vector<MetricValue> &metrics) {
  std::puts(fmt::format("eval loss {}", loss).c_str());
  for (const MetricValue &metric : metrics)
    std::puts(fmt::format("eval {} {}", metricName(metric.kind), metric.value).c_str());
}

/// Of rows of several lengths, tokens are those that are no padding.
void noteLength(LogLine &line, const BatchLength &length) {
  if (length.rows == 0)
    return;
  line.length = length.places;
  line.padding = 1 - static_cast<double>(length.filled) / static_cast<double>(length.room);
  if (line.countsTokens)
    line.perSecond = static_cast<double>(length.filled) / std::max(line.seconds, 1e-9);
}

} // namespace

LogLine Session::runStep(StepRunner &runner) {
  const auto begin = std::chrono::steady_clock::now();
  const CompletedStep step = completeStep(runner, *executor, *scaler, rows, progress);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  signal = step.result.signal;
  LogLine line;
  line.step = progress.step - 1;
  if (step.result.items == 0 && !warnedEmpty && world.isFirst()) {
    say(fmt::format("kedge: warning: step {} has no item: every label is ignored, or its weight is 0; loss "
                    "and gradient are 0",
                    line.step));
    warnedEmpty = true;
  }
  const CompiledOptions &compiled = program.options;
  line.loss = step.result.loss;
  if (!compiled.trainingInfo) {
    line.lr = learningRate(scalars, line.step);
    line.gradNorm = step.result.gradNorm;
  }
  line.stepMetrics = step.result.metrics;
  line.lossTerms = step.result.terms;
  line.experts = step.result.experts;
  line.lossScale = step.before.scale;
  line.growthCounter = scaler->isActive() ? step.after.growthCounter : 0;
  line.skipped = step.skipped;
  line.optimizerSteps = progress.optimizerSteps;
  line.seconds = taken.count();
  const auto stepRows = static_cast<double>(rowsInStep(rows, compiled.batch, compiled.accumulate));
  line.countsTokens = compiled.tokensPerRow > 1;
  line.perSecond = stepRows * compiled.tokensPerRow / std::max(taken.count(), 1e-9);
  noteLength(line, step.result.length);
  line.memoryBytes = program.arenaBytes + executor->device().extraWorkspaceBytes();
  gradients->finishStep(line.step, step.result.items);
  return line;
}

std::optional<double> Session::evaluate() {
  return onAverages(*executor, scalars, options.evalAverage, [&] { return evaluator->loss(progress); });
}

std::optional<double> Session::evaluateIfDue() {
  const bool due =
      progress.step == scalars.steps || (options.evalEvery != 0 && progress.step % options.evalEvery == 0);
  if (!evaluator || !due)
    return std::nullopt;
  return evaluate();
}

void Session::checkpointIfDue(bool interrupted) {
  const bool due = progress.step == scalars.steps || interrupted ||
                   (options.checkpointEvery != 0 && progress.step % options.checkpointEvery == 0);
  if (options.checkpointDir.empty() || !due)
    return;
  checkStatesFinite(*executor, progress.step - 1,
                    "no checkpoint of this state is written" + epsilonHelp(scalars, program));
  writeCheckpoint(options.checkpointDir, *executor, progress, scalars, checkpoints, options.keep);
  savedStep = progress.step;
}

/// "training 52 tensors with 858880 elements (2 frozen) by adamw, steps 1 to 600; 50.12 MB planned".
std::string Session::describeRun() const {
  int64_t trained = 0, elements = 0, frozen = 0;
  for (const State &state : program.states) {
    frozen += state.role == StateRole::Frozen;
    if (state.role != StateRole::Parameter)
      continue;
    ++trained;
    elements +=
        state.shard ? TensorDesc{state.desc.type, state.shard->shape}.elements() : state.desc.elements();
  }
  return fmt::format(
      "training {} tensors with {} elements ({} frozen) by {}, steps {} to {}; {:.2f} MB planned", trained,
      elements, frozen, program.options.optimizer, progress.step + 1, scalars.steps,
      static_cast<double>(program.arenaBytes) / 1e6);
}

bool Session::keepIfBest(const LogLine &line) {
  if (!line.evalLoss || (options.keepBest.empty() && options.stopAfter == 0))
    return false;
  const BestMetric metric = bestMetric(options);
  if (takeEvaluation(progress.best, metric, *line.evalLoss, line.metrics, progress.step) &&
      !options.keepBest.empty()) {
    checkStatesFinite(*executor, progress.step - 1,
                      "no checkpoint of this state is written" + epsilonHelp(scalars, program));
    writeBestCheckpoint(options.checkpointDir, *executor, progress, scalars, checkpoints);
  }
  return options.stopAfter != 0 && progress.best.since >= options.stopAfter;
}

/// What a signal leaves behind.
void Session::noteStop() const {
  std::string kept = "what was trained is lost (no --checkpoint-dir)";
  if (stepsRun == 0)
    kept = checkpoint ? fmt::format("'{}' holds it", checkpoint->folder) : "nothing was trained";
  else if (!options.checkpointDir.empty())
    kept = fmt::format("'{}' holds it", folderOfStep(options.checkpointDir, savedStep));
  else if (exportsWhenStopped())
    kept = "there is no --checkpoint-dir to go on from";
  say(fmt::format("kedge: note: stopped by {} after step {} of {}: {}{}",
                  signal == platform::kInterrupt ? "SIGINT" : "a signal", progress.step, scalars.steps, kept,
                  exportsWhenStopped() ? "; exporting now, unless a second signal comes" : ""));
}

/// What was trained is not lost with a data file. Ranks cannot agree on it any more: the others wait in the
/// step.
void Session::saveBefore(const StepNotBegun &reason) {
  if (ranks || options.checkpointDir.empty() || stepsRun == 0)
    fail("{}", reason.what());
  if (savedStep != progress.step)
    checkpointIfDue(/*interrupted=*/true);
  fail("{}; what was trained is in '{}'", reason.what(), folderOfStep(options.checkpointDir, progress.step));
}

/// No step is left.
int Session::onlyEvaluate(std::optional<double> known) {
  if (evaluator && !known)
    known = evaluate();
  if (known && world.isFirst())
    printEvaluation(*known, evaluator->values());
  const bool hasData = !options.data.empty() || !options.tokens.empty();
  if (hasData && !evalData && exportFiles().empty() && world.isFirst())
    say(scalars.steps == 0
            ? std::string("kedge: note: --steps 0 trains nothing; give --steps N, or --eval-data to evaluate")
            : fmt::format("kedge: note: nothing to do: {} steps are done, and --steps says {} in all",
                          progress.step, scalars.steps));
  return signal = static_cast<int>(maxOverRanks(ranks, caughtSignal()));
}

/// What a signal left out: the run that goes on decides and logs as one that was never stopped.
bool Session::makeUpEvaluation(std::optional<double> &loss) {
  if (!progress.unevaluated)
    return false;
  LogLine line = *progress.unevaluated;
  if (evaluator)
    loss = line.evalLoss = evaluate();
  if (loss) {
    line.metrics = evaluator->values();
    progress.unevaluated.reset();
  }
  writeLogs(line);
  return keepIfBest(line);
}

/// Every step is one of a run whose rate stays; what it leaves goes with the process.
int Session::findRate() {
  RateTest test(options.findRate);
  scalars.schedule = ScheduleKind::Constant;
  scalars.warmup = 0;
  StepRunner runner(*executor, *data, scalars, rows, whenNonFinite(*scaler, options.continueOnNan));
  gradients = std::make_unique<GradientTools>(*executor, options);
  bool goesOn = true;
  for (int64_t step = 0; step < options.findRate && goesOn && signal == 0; ++step) {
    scalars.lr = test.rate(step);
    try {
      const LogLine line = runStep(runner);
      writeLogs(line);
      goesOn = test.add(line.loss);
    } catch (const NotFinite &) {
      goesOn = false; // the rate is too high
    }
    signal = caughtSignal();
  }
  if (signal == 0)
    std::puts(test.report().c_str());
  return signal;
}

int Session::train() {
  std::optional<double> madeUp;
  bool ends = makeUpEvaluation(madeUp);
  if (progress.step >= scalars.steps)
    return onlyEvaluate(madeUp);
  StepRunner runner(*executor, *data, scalars, rows, whenNonFinite(*scaler, options.continueOnNan));
  gradients = std::make_unique<GradientTools>(*executor, options);
  if (gradients->needed())
    runner.watch(gradients.get());
  TraceValues trace(*executor, options);
  if (trace.needed())
    runner.watch(&trace);
  trace.writeStates(progress.step);
  Display display(scalars.steps, program.options.tokensPerRow > 1, world.isFirst());
  display.begin(describeRun().c_str());
  signal = static_cast<int>(maxOverRanks(ranks, caughtSignal()));
  const CallerStays stays;
  for (int64_t done = 0; progress.step < scalars.steps && signal == 0 && !ends; ++done) {
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
    trace.writeStates(progress.step);
    meter.noteStep(done);
    ++stepsRun;
    line.evalLoss = evaluateIfDue();
    if (line.evalLoss)
      line.metrics = evaluator->values();
    if (evaluator)
      signal = std::max(signal, evaluator->stoppedBy());
    progress.unevaluated.reset();
    if (evaluator && evaluator->stoppedBy() != 0)
      progress.unevaluated = line;
    writeLogs(line);
    display.step(line);
    if (!ranks)
      signal = caughtSignal(); // a rank's display that is lost is agreed on in the next step
    ends = keepIfBest(line);
    checkpointIfDue(signal != 0 || ends);
  }
  display.finish();
  if (signal != 0 && signal != platform::kBrokenPipe && progress.step < scalars.steps && world.isFirst())
    noteStop();
  if (ends && world.isFirst())
    say(fmt::format("kedge: note: {} evaluations without a better {} than {} after step {}: the run ends",
                    progress.best.since, progress.best.metric, progress.best.value, progress.best.step));
  const bool evaluated = !evaluator || evaluator->stoppedBy() == 0;
  return signal = progress.step < scalars.steps || !evaluated ? signal : 0;
}

} // namespace kedge::rt
