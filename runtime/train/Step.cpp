#include "runtime/train/Step.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::rt {
namespace {

/// Looks at the loss as soon as it is there when that may end the run, else at the end; shows gradients to the
/// watcher.
class StepObserver : public LaunchObserver {
public:
  StepObserver(Executor &executor, const ResultSlot *loss, const ResultSlot *items, bool stop)
      : executor(executor), loss(loss), items(items), stop(stop) {}

  bool watches(const Function &function, int launch) const override {
    return (loss && (stop || watcher) && launch == readyIn(function)) ||
           (watcher && std::any_of(function.gradients.begin(), function.gradients.end(),
                                   [&](const GradientPlace &place) { return place.afterLaunch == launch; }));
  }

  bool afterLaunch(const Function &function, int launch) override {
    if (loss && launch == readyIn(function)) {
      readLoss();
      if (stop && !std::isfinite(lossSum))
        return false;
    }
    if (watcher)
      watcher->visit(function, launch, step, itemCount);
    return true;
  }

  /// After the run, unless it was read within.
  void readLoss() {
    if (!loss || seen)
      return;
    lossSum = readResult(executor, *loss);
    if (items)
      itemCount = readResult(executor, *items);
    seen = true;
  }

  GradientWatch *watcher = nullptr;
  int64_t step = 0;
  double lossSum = 0, itemCount = 0;

private:
  static int readyIn(const Function &function) {
    return function.lossReady < 0 ? static_cast<int>(function.launches.size()) - 1 : function.lossReady;
  }

  Executor &executor;
  const ResultSlot *loss, *items;
  bool stop, seen = false;
};

} // namespace

double readResult(const Executor &executor, const ResultSlot &slot, int64_t element) {
  return loadAsDouble(slot.desc.type, executor.read(slot.offset, slot.desc.bytes()), element);
}

StepRunner::StepRunner(Executor &executor, const Dataset &data, const RunScalars &scalars, const World &world,
                       bool stopOnNonFinite)
    : executor(executor), program(executor.program()), data(data), scalars(scalars), world(world), writer(program),
      stopOnNonFinite(stopOnNonFinite), forward(program.function("step") ? "step" : "micro") {
  if (!program.function(forward) || (forward == "micro" && !program.function("update")))
    fail("the program '{}' cannot train: it has neither @step nor @micro and @update", program.name);
  if (forward == "step" && program.options.accumulate != 1)
    fail("the program is damaged: @step with {} micro-batches", program.options.accumulate);
  loss = program.result(forward, "loss_sum");
  items = program.result(forward, "items");
  gradNorm = program.result(forward == "step" ? "step" : "update", "grad_norm");
}

/// `micro` may be the number of micro-batches: then of the next step's first.
RowRange StepRunner::rowsOf(const Progress &progress, int64_t micro) const {
  RowRange rows = rowsOfStep(world, program.options.batch, micro);
  rows.first += progress.samples;
  return rows;
}

StepPoint StepRunner::pointOf(const Progress &progress, int64_t micro) const {
  StepPoint point;
  point.step = progress.step;
  point.optimizerSteps = progress.optimizerSteps;
  point.micro = micro;
  point.world = world;
  return point;
}

void StepRunner::fill(const Progress &progress, int64_t micro) {
  const RowRange rows = rowsOf(progress, micro);
  if (stagedRow != rows.first)
    data.fill(executor, forward, rows);
  stagedRow.reset();
}

/// The next batch, while the device is busy with this one. What is wrong with it is told when its turn comes.
void StepRunner::readAhead(const Progress &progress, int64_t micro) {
  if (!executor.device().isAsynchronous())
    return;
  const RowRange next = rowsOf(progress, micro + 1);
  try {
    data.fill(executor, forward, next);
    stagedRow = next.first;
  } catch (const Error &) {
    stagedRow.reset();
  }
}

void StepRunner::runMicro(const Progress &progress, int64_t micro, Sums &sums) {
  fill(progress, micro);
  writer.write(executor, scalars, pointOf(progress, micro));
  StepObserver observer(executor, loss, items, stopOnNonFinite);
  observer.step = progress.step;
  observer.itemCount = program.options.itemsPerBatch;
  if (watcher && watcher->wants(progress.step) && forward == "step")
    observer.watcher = watcher;
  if (!executor.run(forward, &observer))
    explain(progress, micro);
  readAhead(progress, micro);
  observer.readLoss();
  sums.loss += observer.lossSum;
  sums.items += program.options.loss == LossKind::Items ? observer.itemCount : 1;
}

void StepRunner::runUpdate(const Progress &progress, const Sums &sums) {
  StepPoint point = pointOf(progress, program.options.accumulate - 1);
  point.items = program.options.loss == LossKind::Items ? sums.items : program.options.nominalItems;
  writer.write(executor, scalars, point);
  StepObserver observer(executor, nullptr, nullptr, false);
  observer.step = progress.step;
  observer.itemCount = point.items;
  if (watcher && watcher->wants(progress.step))
    observer.watcher = watcher;
  executor.run("update", &observer);
}

double StepRunner::lossOf(const Sums &sums) const {
  if (!loss)
    return std::numeric_limits<double>::quiet_NaN();
  if (sums.items == 0)
    return 0;
  return sums.loss / sums.items;
}

StepResult StepRunner::run(const Progress &progress) {
  Sums sums;
  for (int64_t micro = 0; micro < program.options.accumulate; ++micro)
    runMicro(progress, micro, sums);
  if (forward == "micro")
    runUpdate(progress, sums);
  StepResult result;
  result.loss = lossOf(sums);
  result.items = sums.items;
  if (gradNorm)
    result.gradNorm = readResult(executor, *gradNorm);
  return result;
}

void StepRunner::explain(const Progress &progress, int64_t micro) {
  const double value = readResult(executor, *loss);
  stagedRow.reset();
  data.fill(executor, forward, rowsOf(progress, micro));
  writer.write(executor, scalars, pointOf(progress, micro));
  const Function *function = program.function(forward);
  const std::string head = fmt::format("the loss of step {} is not finite ({})", progress.step, value);
  constexpr const char *remedy =
      "a lower --lr, a longer --warmup or --clip-norm may help; --on-nan continue goes on";
  if (auto found = executor.firstNonFinite(forward, function->lossReady))
    fail("{}: the first value that is not finite is {}, element {} of {}; {}", head, found->value,
         found->element, found->what, remedy);
  fail("{}: no value before it is; {}", head, remedy);
}

} // namespace kedge::rt
