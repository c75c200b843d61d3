#include "driver/plan/MaxBatch.h"
#include "driver/BudgetCheck.h"
#include "driver/Compilation.h"
#include "driver/Remedies.h"
#include "driver/joint/JointFit.h"
#include "driver/plan/PipelinePlan.h"
#include "lib/Support/Error.h"
#include "lib/Support/Progress.h"
#include "lib/Support/Reporter.h"
#include "lib/Support/SideBySide.h"
#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>
#include <utility>

namespace kedge::driver {
namespace {

/// The search ends here, whatever the budget.
constexpr int64_t largestTried = int64_t(1) << 20;

using Resize = std::function<CompileOptions(int64_t)>;

CompileOptions withBatch(const CompileOptions &options, int64_t batch) {
  CompileOptions changed = options;
  int64_t given = options.model.shapes.at(options.plan.maxBatchInput).front();
  for (auto &[name, shape] : changed.model.shapes)
    if (!shape.empty() && shape.front() == given)
      shape.front() = batch;
  changed.trial = Trial::Silent;
  return changed;
}

/// Sizes that have the symbol of the sequence follow it.
CompileOptions withLength(const CompileOptions &options, int64_t length) {
  const model::Model model = model::loadModel(options.model.model, {.requireExternalData = false});
  const model::ValueInfo *sequence = model.graph.findInput(options.plan.maxSeqInput);
  if (!sequence || sequence->dims.size() < 2 || sequence->dims[1].isValue())
    fail("{}: --max-seq {}: expected an input whose second size is open", options.model.model,
         options.plan.maxSeqInput);
  const std::string &symbol = sequence->dims[1].symbol;
  CompileOptions changed = options;
  changed.model.shapes.at(options.plan.maxSeqInput)[1] = length;
  for (auto &[name, shape] : changed.model.shapes)
    if (const model::ValueInfo *input = model.graph.findInput(name); input && !symbol.empty())
      for (size_t i = 0; i < std::min(shape.size(), input->dims.size()); ++i)
        if (input->dims[i].symbol == symbol)
          shape[i] = length;
  changed.trial = Trial::Silent;
  return changed;
}

struct Tried {
  int64_t size = 0;
  bool fits = false;
  std::optional<BudgetCheck::Needs> needs;

  /// Bytes above the budget; below 0 where there is room.
  int64_t missing() const { return needs->smallest - needs->budget; }
  /// The size that fills the budget if what a step makes grows evenly with it.
  int64_t even() const {
    const double room = static_cast<double>(needs->budget - needs->held),
                 taken = static_cast<double>(needs->smallest - needs->held);
    return room > 0 && taken > 0 ? static_cast<int64_t>(static_cast<double>(size) * room / taken) : 0;
  }
};

/// Whether plans of named policies show where to look.
bool canBeQuick(const CompileOptions &options) {
  return !options.joint.on && !options.isPipelined() && !options.plan.maxAddedTime;
}

Tried tried(int64_t size, const CompileOptions &trial, bool isQuick) {
  if (trial.joint.on)
    return {size, fitsInSomeWay(trial), std::nullopt};
  CompileOptions one = trial;
  one.memory.frontier = false;
  if (!canBeQuick(trial)) {
    const nlohmann::json report = reportOf(one);
    const bool isFastEnough = addedTimeOf(report) <= trial.plan.maxAddedTime.value_or(HUGE_VAL);
    return {size, report["fits"].get<bool>() && isFastEnough, std::nullopt};
  }
  one.memory.plan.search = isQuick ? remat::PlanSearch::Policies : remat::PlanSearch::Smallest;
  Compilation compilation(one);
  compilation.import();
  compilation.step();
  compilation.schedule();
  const BudgetCheck budget(compilation.module(), one);
  if (budget.fitsDevice() && one.memory.plan.hostBudget > 0)
    compilation.plan();
  return {size, budget.fits(), budget.needs()};
}

/// Where the line through the bytes of both meets the budget; halfway where bytes are not known.
int64_t sizeBetween(const Tried &fitting, const Tried &tooLarge) {
  const int64_t gap = tooLarge.size - fitting.size;
  if (!fitting.needs || !tooLarge.needs)
    return fitting.size + gap / 2;
  const double share =
      static_cast<double>(-fitting.missing()) / static_cast<double>(tooLarge.missing() - fitting.missing());
  const auto steps = static_cast<int64_t>(share * static_cast<double>(gap));
  return fitting.size + std::clamp<int64_t>(steps, 1, gap - 1);
}

/// Looks for the largest size that fits: to within a 256th, or a 64th where searches find plans whose bytes
/// differ by as much. There two sizes are tried side by side.
class SizeSearch {
public:
  SizeSearch(const char *what, const CompileOptions &options, Resize resize)
      : what(what), isQuick(canBeQuick(options)), resize(std::move(resize)) {}

  void run(int64_t first) {
    bracket(std::min(first, largestTried), isQuick ? kNearby : kPrecision);
    if (isQuick)
      settle();
  }

  int64_t largest() const { return fitting.size; } ///< 0 when none fits
  int64_t nextLarger() const { return tooLarge.size; }

private:
  static constexpr int64_t kNearby = 1, kSettled = 64, kPrecision = 256; ///< parts of the size

  int64_t partOf(int64_t precision) const { return std::max<int64_t>(1, fitting.size / precision); }
  bool isOpen(int64_t precision) const {
    return tooLarge.size - fitting.size > partOf(precision) && fitting.size < largestTried;
  }
  bool isBetween() const { return tooLarge.size <= largestTried; }

  /// Doubles from `first` on, or falls by eighths, until the size lies between two.
  void bracket(int64_t first, int64_t precision) {
    for (int64_t next = first; !isBetween() && fitting.size < largestTried;
         next = std::min(2 * fitting.size, largestTried))
      look(isQuick ? std::vector{next, std::min(2 * next, largestTried)} : std::vector{next});
    while (fitting.size == 0 && isOpen(precision))
      look({std::max<int64_t>(1, tooLarge.size / 8)});
    bool wasFitting = true;
    for (int sameEnd = 0; isOpen(precision);) {
      // A line that moves the same end again and again is a bad guess.
      const int64_t before = fitting.size, gap = tooLarge.size - fitting.size;
      look({sameEnd < 2 ? sizeBetween(fitting, tooLarge) : before + gap / 2});
      const bool movedFitting = fitting.size > before;
      sameEnd = movedFitting == wasFitting ? sameEnd + 1 : 0;
      wasFitting = movedFitting;
    }
  }

  /// By searches for the smallest plan, which find smaller ones than the policies'. So sizes that were too
  /// large for those are open again.
  void settle() {
    isSettling = true;
    int64_t next = std::max<int64_t>(1, fitting.size);
    if (isBetween() && tooLarge.needs) {
      next = std::max(next, sizeBetween(fitting, tooLarge));
      tooLarge = {largestTried + 1, false, std::nullopt};
    }
    while (!isBetween() && isOpen(kSettled)) {
      const std::vector<Tried> pair =
          look({next, std::min(next + std::max<int64_t>(1, next / 8), largestTried)});
      next = fullAt(pair.front(), pair.back());
    }
    for (bool isNear = true; isOpen(kSettled); isNear = false)
      look(isNear ? around(sizeBetween(fitting, tooLarge)) : thirds());
  }

  /// Where the line through both would fill the budget, or that through one and nothing; at most twice the
  /// size, at least as much more as the precision.
  int64_t fullAt(const Tried &before, const Tried &one) const {
    if (!one.needs)
      return std::min(2 * one.size, largestTried);
    int64_t size = one.even();
    if (const int64_t grown = before.needs ? one.needs->smallest - before.needs->smallest : 0; grown > 0)
      size = one.size -
             static_cast<int64_t>(static_cast<double>(one.missing()) *
                                  static_cast<double>(one.size - before.size) / static_cast<double>(grown));
    return std::min(std::clamp(size, one.size + partOf(kSettled), 2 * one.size), largestTried);
  }

  /// Two sizes with no more than the precision between them.
  std::vector<int64_t> around(int64_t size) const {
    const int64_t part = partOf(kSettled), lower = std::max(fitting.size + 1, size - part / 2);
    return between(lower, lower + part);
  }
  std::vector<int64_t> thirds() const {
    const int64_t third = (tooLarge.size - fitting.size) / 3;
    return between(fitting.size + std::max<int64_t>(1, third), tooLarge.size - third);
  }
  std::vector<int64_t> between(int64_t lower, int64_t upper) const {
    return upper < tooLarge.size && upper > lower ? std::vector{lower, upper} : std::vector{lower};
  }

  /// `sizes` by rising size.
  std::vector<Tried> look(const std::vector<int64_t> &sizes) {
    const ProgressStage stage(
        fmt::format("looking for the largest {}, trying {}", what, fmt::join(sizes, " and ")), 0);
    std::vector<std::string> failures(sizes.size());
    std::vector<Tried> looked(sizes.size());
    if (sizes.size() == 1) // its own progress is told on this thread
      looked.front() = triedAbove(sizes.front(), failures.front());
    else
      sideBySide(sizes.size(), [&](size_t i) { looked[i] = triedAbove(sizes[i], failures[i]); });
    endIfCancelled();
    for (const auto &[one, failure] : llvm::zip_equal(looked, failures))
      take(one, failure);
    return looked;
  }

  /// Where a smaller size fits, one that the model does not take is too large.
  void take(const Tried &one, const std::string &failure) {
    if (!one.fits && one.size > tooLarge.size)
      return;
    if (!failure.empty() && fitting.size == 0)
      throw Error(failure);
    if (!failure.empty() && !std::exchange(saidWhy, true))
      note("no larger size: {}", failure);
    (one.fits ? fitting : tooLarge) = one;
    if (fitting.size > tooLarge.size)
      tooLarge = {largestTried + 1, false, std::nullopt};
  }

  Tried triedAbove(int64_t size, std::string &failure) {
    try {
      return tried(size, resize(size), isQuick && !isSettling);
    } catch (const Error &error) {
      failure = error.what();
      return {size, false, std::nullopt};
    }
  }

  const char *what;
  const bool isQuick;
  const Resize resize;
  bool saidWhy = false, isSettling = false;
  Tried fitting{0, true, std::nullopt}, tooLarge{largestTried + 1, false, std::nullopt};
};

LargestSize sized(const Resize &resize, const SizeSearch &search, Trial trial) {
  LargestSize result{resize(std::max<int64_t>(search.largest(), 1)), search.largest(), search.nextLarger()};
  result.options.trial = trial;
  return result;
}

/// Empty where it is --max-added-time that a plan does not keep to.
std::string whyNot(int64_t size, mlir::ModuleOp module, const CompileOptions &options) {
  const BudgetCheck budget(module, options);
  return budget.fits() ? ""
                       : fmt::format("why not {}:\n{}", size, budget.whyNothingFits(remediesText(options)));
}

} // namespace

LargestSize largestBatch(const CompileOptions &start) {
  const CompileOptions options =
      start.joint.on ? start : withChosenSchedule(start); // that of the size to begin with
  auto given = options.model.shapes.find(options.plan.maxBatchInput);
  if (given == options.model.shapes.end() || given->second.empty())
    fail("--max-batch {}: expected an input with a shape to begin with; give it with --shape {}=1x...",
         options.plan.maxBatchInput, options.plan.maxBatchInput);
  const Resize resize = [&](int64_t batch) { return withBatch(options, batch); };
  SizeSearch search("batch", options, resize);
  search.run(given->second.front());
  return sized(resize, search, options.trial);
}

void LargestSize::addTo(nlohmann::json &report) const {
  if (!options.plan.maxBatchInput.empty())
    report["max_batch"] = {{"input", options.plan.maxBatchInput}, {"batch", size}};
  if (!options.plan.maxSeqInput.empty())
    report["max_seq"] = {{"input", options.plan.maxSeqInput}, {"length", size}};
}

std::string whyNoLarger(const LargestSize &found) {
  const int64_t size = found.nextLarger;
  if (found.options.joint.on || size > largestTried)
    return "";
  const bool batch = !found.options.plan.maxBatchInput.empty();
  CompileOptions next = batch ? withBatch(found.options, size) : withLength(found.options, size);
  next.memory.frontier = next.plan.compare = false;
  next.memory.plan.search = remat::PlanSearch::Smallest; // by which it was found too large
  try {
    if (next.isPipelined()) {
      PipelinePlan plan(next);
      return whyNot(size, plan.compilation().module(), plan.options());
    }
    Compilation compilation(next);
    compilation.import();
    compilation.step();
    compilation.schedule();
    compilation.plan();
    return whyNot(size, compilation.module(), next);
  } catch (const Error &) {
    return ""; // the search has said so
  }
}

LargestSize longestSequence(const CompileOptions &start) {
  const CompileOptions options = start.joint.on ? start : withChosenSchedule(start);
  auto given = options.model.shapes.find(options.plan.maxSeqInput);
  if (given == options.model.shapes.end() || given->second.size() < 2)
    fail("--max-seq {}: expected an input with a shape of at least two sizes to begin with; give it with "
         "--shape {}=1x128",
         options.plan.maxSeqInput, options.plan.maxSeqInput);
  const Resize resize = [&](int64_t length) { return withLength(options, length); };
  SizeSearch search("length", options, resize);
  search.run(given->second[1]);
  return sized(resize, search, options.trial);
}

} // namespace kedge::driver
