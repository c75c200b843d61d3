#include "runtime/train/Step.h"
#include "kedge/abi/ExpertNames.h"
#include "runtime/comm/Communicator.h"
#include "runtime/format/Convert.h"
#include "runtime/io/MapGuard.h"
#include "runtime/train/Signals.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::rt {
namespace {

/// What the ranks agree on in every micro-batch: sums of loss, items and metrics, the largest signal, and how
/// many terms the loss has. Terms are sent where there are any: MPI allocates for messages of that size.
struct Agreed {
  double loss = 0, items = 0;
  std::array<double, abi::kStepMetrics.size()> metrics{};
  int64_t signal = 0, terms = 0;
};

/// After the last of the terms that are read; 0 where there is none.
int64_t termCount(const StepMetricSlots &metrics) {
  const auto last = std::find_if(metrics.rbegin(), metrics.rend() - abi::kStepMetrics.size(),
                                 [](const ResultSlot *slot) { return slot != nullptr; });
  return (metrics.rend() - last) - static_cast<int64_t>(abi::kStepMetrics.size());
}

void add(StepMetricSums &sums, const StepMetricSums &more) {
  for (size_t kind = 0; kind < sums.size(); ++kind)
    sums[kind] += more[kind];
}

Agreed agreeOverRanks(Communicator &communicator, const Agreed &mine) {
  Agreed agreed;
  withAllRanks(communicator, &mine, 1, [&](const Agreed *all) {
    agreed = all[0];
    for (int64_t place = 1; place < communicator.rowPlaces(); ++place) {
      agreed.loss += all[communicator.rankOfRows(place)].loss;
      agreed.items += all[communicator.rankOfRows(place)].items;
      for (size_t kind = 0; kind < agreed.metrics.size(); ++kind)
        agreed.metrics[kind] += all[communicator.rankOfRows(place)].metrics[kind];
    }
    for (int64_t rank = 1; rank < communicator.world().size; ++rank) {
      agreed.signal = std::max(agreed.signal, all[rank].signal);
      agreed.terms = std::max(agreed.terms, all[rank].terms);
    }
  });
  return agreed;
}

/// What a function makes that is looked at; null: nothing of that kind.
struct Watched {
  const ResultSlot *loss = nullptr, *items = nullptr, *norm = nullptr;
  StepMetricSlots metrics{};
  const ResultSlot *transfers = nullptr; ///< there when all of a stage's sends and receives have ended
};

/// Looks at the loss, and at the norm of gradients that no update has used yet, as soon as they are there
/// when that may end the function, else at the end; shows gradients to the watcher. Loss and items are those
/// of all ranks.
class StepObserver : public LaunchObserver {
public:
  StepObserver(Executor &executor, const Watched &watched, bool stop)
      : executor(executor), loss(watched.loss), items(watched.items), norm(watched.norm),
        metrics(watched.metrics), transfers(watched.transfers), stop(stop) {}

  bool watches(const Function &function, int launch) const override {
    return (watcher && watcher->seesEveryLaunch()) ||
           (loss && (stop || watcher) && launch == lookedAtIn(function)) ||
           (holds(function) && launch == function.normReady) ||
           (watcher && std::any_of(function.gradients.begin(), function.gradients.end(),
                                   [&](const GradientSlot &place) { return place.afterLaunch == launch; }));
  }

  bool skips(const Function &function, int launch) const override {
    return parts && &function == &parts->function() && parts->updates(launch);
  }

  bool afterLaunch(const Function &function, int launch) override {
    if (watcher)
      watcher->visit(function, launch, step, itemCount);
    if (transfers && holds(function) && launch == function.normReady)
      readResult(executor, *transfers); // no other stage waits for this one any more
    if (loss && launch == lookedAtIn(function)) {
      readLoss();
      if (stop && !std::isfinite(lossSum))
        return false;
    }
    left = holds(function) && launch == function.normReady && !std::isfinite(readResult(executor, *norm));
    return !left;
  }

  /// After the run, unless it was read within.
  void readLoss() {
    if (!loss || seen)
      return;
    lossSum = left ? std::numeric_limits<double>::quiet_NaN() : readResult(executor, *loss);
    if (items && !left)
      itemCount = readResult(executor, *items);
    for (size_t kind = 0; kind < metrics.size() && !left; ++kind)
      if (metrics[kind])
        metricSums[kind] = readResult(executor, *metrics[kind]);
    seen = true;
    if (Communicator *ranks = executor.communicator()) {
      Agreed mine{lossSum, itemCount, {}, caughtSignal(), termCount(metrics)};
      std::copy_n(metricSums.begin(), mine.metrics.size(), mine.metrics.begin());
      const Agreed agreed = agreeOverRanks(*ranks, mine);
      lossSum = agreed.loss;
      itemCount = agreed.items;
      std::copy(agreed.metrics.begin(), agreed.metrics.end(), metricSums.begin());
      if (agreed.terms > 0)
        sumOverRanks(ranks, metricSums.data() + agreed.metrics.size(), static_cast<size_t>(agreed.terms));
      signal = static_cast<int>(agreed.signal);
    }
  }

  GradientWatch *watcher = nullptr;
  const StepParts *parts = nullptr; ///< not null: their updates are left out
  int64_t step = 0;
  double lossSum = 0, itemCount = 0;
  StepMetricSums metricSums{};
  int signal = 0;

private:
  bool holds(const Function &function) const { return norm && stop && function.normReady >= 0; }

  /// A device waits for the host once where both are looked at. A stage of a pipeline that left at its loss
  /// would leave others waiting for what it sends.
  int lookedAtIn(const Function &function) const {
    const bool isLast = function.lossReady < 0;
    if (isLast && holds(function))
      return function.normReady;
    const int ready = isLast ? static_cast<int>(function.launches.size()) - 1 : function.lossReady;
    return holds(function) && !watcher ? std::max(ready, function.normReady) : ready;
  }

  Executor &executor;
  const ResultSlot *loss, *items, *norm;
  StepMetricSlots metrics;
  const ResultSlot *transfers;
  bool stop, seen = false;
  bool left = false; ///< gradients were not finite
};

} // namespace

double readResult(const Executor &executor, const ResultSlot &slot, int64_t element) {
  return loadAsDouble(slot.desc.type, executor.read(slot.offset, slot.desc.bytes()), element);
}

bool canSkipUpdates(const Program &program) {
  const Function *step = program.function("step"), *update = program.function("update");
  const Function *last = step ? step : update;
  return last && last->normReady >= 0;
}

StepRunner::StepRunner(Executor &executor, const Dataset &data, const RunScalars &scalars, const World &world,
                       NonFiniteStep whenNonFinite)
    : executor(executor), program(executor.program()), data(data), scalars(scalars), world(world),
      writer(program), whenNonFinite(whenNonFinite), forward(program.function("step") ? "step" : "micro") {
  if (!program.function(forward) || (forward == "micro" && !program.function("update")))
    fail("the program '{}' cannot train: it has neither @step nor @micro and @update", program.name);
  if (forward == "step" && program.options.accumulate != 1)
    fail("the program is damaged: @step with {} micro-batches", program.options.accumulate);
  loss = program.result(forward, "loss_sum");
  items = program.result(forward, "items");
  gradNorm = program.result(forward == "step" ? "step" : "update", "grad_norm");
  findMetrics();
  findExperts();
}

void StepRunner::findExperts() {
  for (const ResultSlot &result : program.results)
    if (result.function == forward && result.name.starts_with(abi::kExpertsPrefix)) {
      if (!experts)
        experts = std::make_shared<std::vector<ExpertCounts>>();
      experts->push_back({result.name.substr(abi::kExpertsPrefix.size()),
                          std::vector<int64_t>(static_cast<size_t>(result.desc.elements()))});
      expertSlots.push_back(&result);
    }
}

void StepRunner::addExperts(int64_t micro) {
  for (size_t layer = 0; layer < expertSlots.size(); ++layer) {
    std::vector<int64_t> &counts = (*experts)[layer].counts;
    for (size_t expert = 0; expert < counts.size(); ++expert)
      counts[expert] =
          (micro == 0 ? 0 : counts[expert]) +
          static_cast<int64_t>(readResult(executor, *expertSlots[layer], static_cast<int64_t>(expert)));
  }
}

void StepRunner::findMetrics() {
  for (size_t kind = 0; kind < abi::kStepMetrics.size(); ++kind)
    metrics[kind] =
        program.result(forward, std::string(abi::kMetricPrefix) + std::string(abi::kStepMetrics[kind]));
  std::vector<std::string> names;
  for (const ResultSlot &result : program.results)
    if (result.function == forward && result.name.starts_with(abi::kLossPrefix)) {
      if (names.size() == abi::kMostLosses)
        fail("the program is damaged: its loss has more than {} terms", abi::kMostLosses);
      metrics[abi::kStepMetrics.size() + names.size()] = &result;
      names.push_back(result.name.substr(abi::kLossPrefix.size()));
    }
  if (!names.empty())
    terms.names = std::make_shared<const std::vector<std::string>>(std::move(names));
}

/// `micro` may be the number of micro-batches: then of the next step's first.
RowRange StepRunner::rowsOf(const RunProgress &progress, int64_t micro) const {
  const CompiledOptions &o = program.options;
  RowRange rows =
      rowsOfStep(world, o.batch, micro % o.accumulate, o.parts, o.accumulate / o.parts, o.joinedMicroBatches);
  rows.first += progress.samples + micro / o.accumulate * rowsInStep(world, o.batch, o.accumulate);
  return rows;
}

/// Ranks take one function together: that of the longest row that any of them has.
BatchLength StepRunner::lengthOf(const RunProgress &progress, int64_t micro) const {
  const CompiledOptions &o = program.options;
  const int64_t together = rowsInStep(world, o.batch, 1);
  return data.lengthOf(forward, progress.samples + micro * together, together);
}

StepPoint StepRunner::pointOf(const RunProgress &progress, int64_t micro) const {
  StepPoint point;
  point.step = progress.step;
  point.optimizerSteps = progress.optimizerSteps;
  point.micro = micro;
  point.world = world;
  return point;
}

void StepRunner::fill(const RunProgress &progress, int64_t micro) {
  const RowRange rows = rowsOf(progress, micro);
  try {
    length = lengthOf(progress, micro);
    if (stagedRow != rows.first)
      data.fill(executor, length.function->name, rows);
  } catch (const LostFile &lost) {
    if (micro == 0)
      throw StepNotBegun(lost.what());
    throw;
  }
  stagedRow.reset();
}

/// The next batch, while the device is busy with this one. What is wrong with it is told when its turn comes.
void StepRunner::readAhead(const RunProgress &progress, int64_t micro) {
  if (!executor.device().isAsynchronous())
    return;
  const RowRange next = rowsOf(progress, micro + 1);
  try {
    data.fill(executor, lengthOf(progress, micro + 1).function->name, next);
    stagedRow = next.first;
  } catch (const RuntimeError &) {
    stagedRow.reset();
  }
}

void StepRunner::runMicro(const RunProgress &progress, int64_t micro, Sums &sums) {
  fill(progress, micro);
  writer.write(executor, scalars, pointOf(progress, micro));
  StepObserver observer(
      executor,
      {loss, items, forward == "step" ? gradNorm : nullptr, metrics, program.result(forward, "transfers")},
      !isHandled());
  observer.parts = parts;
  observer.step = progress.step;
  observer.itemCount = program.options.itemsPerBatch;
  if (watcher && watcher->wants(progress.step) && (forward == "step" || watcher->seesEveryLaunch()))
    observer.watcher = watcher;
  sums.finite &= executor.run(length.function->name, &observer);
  observer.readLoss();
  addExperts(micro);
  if (loss && !sums.lossOverflow && !std::isfinite(observer.lossSum))
    sums.lossOverflow = micro;
  if (whenNonFinite == NonFiniteStep::Ends && loss && !std::isfinite(observer.lossSum))
    explainLoss(progress, micro, observer.lossSum);
  if (whenNonFinite == NonFiniteStep::Scales && loss && !std::isfinite(observer.lossSum))
    refuseData(progress, micro);
  readAhead(progress, micro);
  if (sums.length.places < length.places)
    sums.length.function = length.function, sums.length.places = length.places;
  sums.length.rows += length.rows;
  sums.length.room += length.room;
  sums.length.filled += length.filled;
  sums.loss += observer.lossSum;
  add(sums.metrics, observer.metricSums);
  const Communicator *ranks = executor.communicator();
  sums.items += program.options.loss == LossKind::Items ? observer.itemCount
                : ranks                                 ? static_cast<double>(world.size)
                                                        : 1;
  sums.signal = observer.signal;
}

void StepRunner::runUpdate(const RunProgress &progress, Sums &sums) {
  StepPoint point = pointOf(progress, program.options.accumulate - 1);
  point.items = program.options.loss == LossKind::Items ? sums.items : program.options.nominalItems;
  writer.write(executor, scalars, point);
  StepObserver observer(executor, {nullptr, nullptr, gradNorm, {}}, !isHandled());
  observer.parts = parts;
  observer.step = progress.step;
  observer.itemCount = point.items;
  if (watcher && watcher->wants(progress.step))
    observer.watcher = watcher;
  sums.finite = executor.run("update", &observer);
}

double StepRunner::lossOf(const Sums &sums) const {
  if (!loss)
    return std::numeric_limits<double>::quiet_NaN();
  if (sums.items == 0)
    return 0;
  return sums.loss / sums.items;
}

void StepRunner::setMetrics(const Sums &sums, StepResult &result) const {
  const auto mean = [&](size_t kind) { return sums.items == 0 ? 0 : sums.metrics[kind] / sums.items; };
  for (size_t kind = 0; kind < abi::kStepMetrics.size(); ++kind)
    if (metrics[kind])
      result.metrics[kind] = mean(kind);
  result.terms = terms;
  for (size_t term = 0; term < terms.count(); ++term)
    result.terms.values[term] = mean(abi::kStepMetrics.size() + term);
}

StepResult StepRunner::run(const RunProgress &progress) {
  Sums sums;
  for (int64_t micro = 0; micro < program.options.accumulate; ++micro)
    runMicro(progress, micro, sums);
  if (forward == "micro" && sums.finite)
    runUpdate(progress, sums);
  StepResult result;
  result.loss = lossOf(sums);
  result.items = sums.items;
  setMetrics(sums, result);
  result.experts = experts;
  result.length = sums.length;
  result.signal = sums.signal;
  if (Communicator *ranks = executor.communicator(); ranks && !loss)
    result.signal = static_cast<int>(maxOverRanks(ranks, caughtSignal()));
  result.skipped = !sums.finite;
  result.lossOverflow = sums.lossOverflow;
  if (gradNorm)
    result.gradNorm =
        result.skipped ? std::numeric_limits<double>::quiet_NaN() : readResult(executor, *gradNorm);
  if (whenNonFinite == NonFiniteStep::Ends && result.gradNorm &&
      !std::isfinite(*result.gradNorm)) // so is a gradient
    explainGradients(progress, readResult(executor, *gradNorm));
  return result;
}

} // namespace kedge::rt
