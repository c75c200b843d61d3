// From a packing down to lower ones by runs of ArenaEjection.
#include "lib/Solver/Arena/ArenaEjection.h"
#include <algorithm>

namespace kedge::solver {
namespace {
constexpr int64_t runLimit = 20'000'000, effortWhenNear = 80'000'000;
constexpr int64_t effortOfFirstTry = 600'000'000, effortOfTry = 300'000'000;
constexpr int mostTries = 6, mostIdleTries = 2;
constexpr double firstStep = 0.4, smallestStep = 0.1, largestStep = 0.5; ///< of the way to the goal

/// The most bytes of items below `size` units that live at once.
int64_t loadBelow(const ArenaProblem &problem, int64_t size) {
  ArenaProblem part;
  part.sections = problem.sections;
  for (const ArenaItem &item : problem.items)
    if (item.size < size)
      part.items.push_back(item);
  return part.load();
}

/// Items below this many units live in a five-hundredth of the load.
int64_t smallestLarge(const ArenaProblem &problem, int64_t load) {
  std::vector<int64_t> sizes;
  for (const ArenaItem &item : problem.items)
    sizes.push_back(item.size);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  // Of the sizes, the first below which more is live.
  auto isLarge = [&](int64_t limit, int64_t size) { return loadBelow(problem, size) > limit; };
  auto found = std::upper_bound(sizes.begin(), sizes.end(), load / 500, isLarge);
  return found == sizes.begin() ? sizes.front() : *(found - 1);
}

class Descent {
public:
  /// `mayStopBelow`: units under which little effort is left for lower packings.
  Descent(const ArenaProblem &whole, int64_t enough, int64_t mayStopBelow, uint64_t seed, ArenaEffort &effort,
          ArenaPlacement &best)
      : whole(whole), enough(enough), mayStopBelow(mayStopBelow), seed(seed), effort(effort), best(best),
        load(whole.load()) {}

  void run() {
    if (effort.isSpent())
      return;
    split();
    lowerLarge();
    ArenaPlacement candidate;
    candidate.offsets.assign(whole.items.size(), -1);
    for (size_t i = 0; i < indices.size(); ++i)
      candidate.offsets[indices[i]] = placement.offsets[i];
    fillGaps(whole, effort, candidate);
    if (candidate.height < best.height)
      best = std::move(candidate);
  }

private:
  void split() {
    int64_t limit = smallestLarge(whole, load);
    large.sections = whole.sections;
    for (size_t i = 0; i < whole.items.size(); ++i) {
      const ArenaItem &item = whole.items[i];
      if (item.size < limit)
        continue;
      large.items.push_back(item);
      indices.push_back(static_cast<int>(i));
      placement.offsets.push_back(best.offsets[i]);
      placement.height = std::max(placement.height, best.offsets[i] + item.size);
    }
    goal = std::max(large.load(), enough - loadBelow(whole, limit));
    mayStopBelow -= loadBelow(whole, limit);
  }

  bool isOpen(int64_t spentBefore) {
    bool isNear = placement.height <= mayStopBelow;
    return placement.height > goal && !effort.isSpent() &&
           !(isNear && effort.used() - spentBefore >= effortWhenNear);
  }

  /// Bolder after success, more timid after failure.
  void lowerLarge() {
    ArenaEjection search(large, seed);
    int64_t spentBefore = effort.used();
    for (double step = firstStep; isOpen(spentBefore);) {
      int64_t gap = placement.height - goal;
      int64_t target =
          placement.height - std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(gap) * step));
      if (search.run(target, placement, runLimit, effort)) {
        placement = search.placement();
        step = std::min(largestStep, step * 1.5);
      } else {
        step = std::max(smallestStep, step / 2);
      }
    }
  }

  const ArenaProblem &whole;
  int64_t enough, mayStopBelow;
  uint64_t seed;
  ArenaEffort &effort;
  ArenaPlacement &best;
  int64_t load, goal = 0;
  ArenaProblem large;
  std::vector<int> indices; ///< of each large item, in the whole
  ArenaPlacement placement; ///< of the large items
};

} // namespace

void lowerByEjection(const ArenaProblem &problem, int64_t enough, uint64_t seed, ArenaEffort &effort,
                     ArenaPlacement &best) {
  Descent(problem, enough, /*mayStopBelow=*/0, seed, effort, best).run();
}

void lowerByEjectionTries(const ArenaProblem &problem, int64_t enough, uint64_t seed, ArenaPlacement &best) {
  const int64_t load = problem.load(), near = load + load / 100;
  int idle = 0;
  for (uint64_t attempt = 0; attempt < mostTries && idle < mostIdleTries; ++attempt) {
    int64_t before = best.height;
    ArenaEffort effort(attempt == 0 ? effortOfFirstTry : effortOfTry, 0);
    Descent(problem, enough, near, seed + attempt, effort, best).run();
    if (best.height <= enough + enough / 100)
      return;
    const int64_t gained = before - best.height;
    idle = gained > (before - enough) / 8 ? 0 : idle + 1;
  }
}

} // namespace kedge::solver
