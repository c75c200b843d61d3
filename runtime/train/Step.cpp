#include "runtime/train/Step.h"
#include "runtime/comm/Communicator.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include "runtime/train/Signals.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::rt {
namespace {

constexpr const char *kNonFiniteRemedy =
    "a lower --lr, a longer --warmup or --clip-norm may help; --on-nan continue goes on";

/// What the ranks agree on in every micro-batch: sums of loss and items, the largest signal.
struct Agreed {
  double loss = 0, items = 0;
  int64_t signal = 0;
};

Agreed agreeOverRanks(Communicator &communicator, const Agreed &mine) {
  Agreed agreed;
  withAllRanks(communicator, &mine, 1, [&](const Agreed *all) {
    agreed = all[0];
    for (int64_t rank = 1; rank < communicator.world().size; ++rank) {
      agreed.loss += all[rank].loss;
      agreed.items += all[rank].items;
      agreed.signal = std::max(agreed.signal, all[rank].signal);
    }
  });
  return agreed;
}

/// Looks at the loss as soon as it is there when that may end the run, else at the end; shows gradients to the
/// watcher. Loss and items are those of all ranks.
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
    if (Communicator *ranks = executor.communicator()) {
      const Agreed agreed = agreeOverRanks(*ranks, {lossSum, itemCount, caughtSignal()});
      lossSum = agreed.loss;
      itemCount = agreed.items;
      signal = static_cast<int>(agreed.signal);
    }
  }

  GradientWatch *watcher = nullptr;
  int64_t step = 0;
  double lossSum = 0, itemCount = 0;
  int signal = 0;

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
    explain(progress, micro, observer.lossSum);
  readAhead(progress, micro);
  observer.readLoss();
  sums.loss += observer.lossSum;
  const Communicator *ranks = executor.communicator();
  sums.items += program.options.loss == LossKind::Items ? observer.itemCount : ranks ? static_cast<double>(world.size) : 1;
  sums.signal = observer.signal;
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
  result.signal = sums.signal;
  if (Communicator *ranks = executor.communicator(); ranks && !loss)
    result.signal = static_cast<int>(maxOverRanks(ranks, caughtSignal()));
  if (gradNorm)
    result.gradNorm = readResult(executor, *gradNorm);
  return result;
}

/// The rank whose value comes first in the program's order names it; rank 0 says so.
void StepRunner::explainAmongRanks(const std::string &head, const std::optional<NonFinite> &found) {
  Communicator &ranks = *executor.communicator();
  std::string text = "no value before it is";
  if (found)
    text = fmt::format("the first value that is not finite is, on rank {}, {}, element {} of {}", world.rank, found->value,
                       found->element, found->what);
  text.resize(1024);
  const int64_t mine = found ? found->launch : std::numeric_limits<int64_t>::max();
  int64_t first = 0;
  withAllRanks(ranks, &mine, 1, [&](const int64_t *all) { first = std::min_element(all, all + world.size) - all; });
  if (first != 0)
    ranks.sendToFirst(first, text.data(), text.data(), text.size());
  throw AgreedError(fmt::format("{}: {}; {}", head, text.c_str(), kNonFiniteRemedy));
}

void StepRunner::explain(const Progress &progress, int64_t micro, double value) {
  stagedRow.reset();
  data.fill(executor, forward, rowsOf(progress, micro));
  writer.write(executor, scalars, pointOf(progress, micro));
  const Function *function = program.function(forward);
  const std::string head = fmt::format("the loss of step {} is not finite ({})", progress.step, value);
  const std::optional<NonFinite> found = executor.firstNonFinite(forward, function->lossReady);
  if (executor.communicator())
    explainAmongRanks(head, found);
  if (found)
    fail("{}: the first value that is not finite is {}, element {} of {}; {}", head, found->value, found->element,
         found->what, kNonFiniteRemedy);
  fail("{}: no value before it is; {}", head, kNonFiniteRemedy);
}

} // namespace kedge::rt
