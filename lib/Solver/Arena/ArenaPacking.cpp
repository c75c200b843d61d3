#include "lib/Solver/Arena/ArenaPacking.h"
#include "lib/Solver/Arena/ArenaEjection.h"
#include "lib/Solver/Arena/ArenaSearch.h"
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace kedge::solver {
namespace {
/// The second where the packing is within a thousandth of its bound: planners pack many schedules.
constexpr int64_t packingEffort = 400'000'000, packingEffortWhenClose = 40'000'000;
/// Above so many items the search is followed by ejection.
constexpr int64_t fewItems = 400, effortBeforeEjection = 150'000'000;
constexpr int64_t largestSum = int64_t(1) << 62;
/// ArenaSearch holds as many numbers, and its recursion is as deep as there are items.
constexpr int64_t largestSearch = 20'000'000, mostItems = 8000;

std::vector<Buffer> rounded(const std::vector<Buffer> &buffers, int64_t align) {
  if (align < 1)
    throw std::invalid_argument("the alignment is " + std::to_string(align) + ", expected at least 1");
  std::vector<Buffer> result = buffers;
  int64_t sum = 0;
  for (size_t i = 0; i < result.size(); ++i) {
    Buffer &buffer = result[i];
    std::string name = "buffer " + std::to_string(i) + " ";
    if (buffer.lower > buffer.upper)
      throw std::invalid_argument(name + "lives from step " + std::to_string(buffer.lower) + " to " +
                                  std::to_string(buffer.upper) +
                                  ", expected an end that is not before the start");
    if (buffer.size < 0)
      throw std::invalid_argument(name + "has " + std::to_string(buffer.size) + " bytes, expected 0 or more");
    int64_t over = buffer.size % align == 0 ? 0 : align - buffer.size % align;
    if (buffer.size > largestSum - sum || over > largestSum - sum - buffer.size)
      throw std::invalid_argument(name + "and those before it have more than 2^62 bytes together");
    buffer.size += over;
    sum += buffer.size;
  }
  return result;
}

/// What ArenaSearch or ArenaEjection would have to hold for a part.
int64_t searchSize(const ArenaProblem &part) {
  int64_t size = 0;
  std::vector<int64_t> starts(part.sections + 1), live(part.sections + 1);
  for (const ArenaItem &item : part.items) {
    size += item.last - item.first + 1;
    ++starts[item.first];
    ++live[item.first];
    --live[item.last + 1];
  }
  for (int s = 0, now = 0; s < part.sections; ++s) {
    now += static_cast<int>(live[s]);
    size += starts[s] * (2 * now - starts[s]); // pairs of items of which the later starts here
  }
  return size;
}

struct PartResult {
  ArenaPlacement placement;
  int64_t lowerBound = 0; ///< units
};

/// Lowers a part's packing towards `enough`, and raises its lower bound where a search comes to its end. Each
/// sweep aims at the bound first and then halves the distance to the best packing, with more states from
/// sweep to sweep.
class PartSearch {
public:
  PartSearch(const ArenaProblem &part, const PackOptions &options, ArenaEffort &effort, PartResult &result)
      : search(part, options.seed), effort(effort), result(result),
        items(static_cast<int64_t>(part.items.size())),
        effortWhenClose(options.effort == 0 && options.timeLimit <= 0 ? packingEffortWhenClose : 0) {}

  void run(int64_t enough) {
    nodeLimit = 200 + 2 * items;
    for (; isOpen(enough); nodeLimit += nodeLimit / 5)
      sweep(enough);
  }

private:
  bool isOpen(int64_t enough) {
    int64_t bound = std::max(enough, result.lowerBound), gap = result.placement.height - bound;
    bool isClose = gap <= bound / 1000;
    return gap > 0 && !effort.isSpent() &&
           !(isClose && effortWhenClose > 0 && effort.used() >= effortWhenClose);
  }

  void sweep(int64_t enough) {
    int64_t missed = std::max(enough, result.lowerBound) - 1; // not reached in this sweep
    for (int64_t target = missed + 1; isOpen(enough) && target < result.placement.height;
         target = missed + (result.placement.height - missed + 1) / 2)
      if (!reaches(target))
        missed = target;
  }

  bool reaches(int64_t target) {
    for (int turn = 0; turn < ArenaSearch::roundsInTurn && !effort.isSpent(); ++turn) {
      ArenaSearch::Outcome outcome = search.run(target, round++, nodeLimit, effort);
      if (outcome == ArenaSearch::Outcome::Infeasible) {
        result.lowerBound = std::max(result.lowerBound, target + 1);
        return false;
      }
      if (outcome == ArenaSearch::Outcome::Found) {
        result.placement = search.placement();
        return true;
      }
    }
    return false;
  }

  ArenaSearch search;
  ArenaEffort &effort;
  PartResult &result;
  int64_t items, effortWhenClose, nodeLimit = 0;
  int round = 0;
};

/// The complete search first, as it is what meets the load exactly; where a problem is too much for it,
/// ejection.
void improve(const ArenaProblem &part, int64_t enough, const PackOptions &options, ArenaEffort &effort,
             PartResult &result) {
  if (part.items.size() > mostFirstFitItems)
    return;
  int64_t count = static_cast<int64_t>(part.items.size());
  if (searchSize(part) > largestSearch) {
    ArenaRandom random(options.seed);
    return improveFirstFit(part, enough, effort, random, result.placement);
  }
  bool ejects = count > fewItems, isDefault = options.effort == 0 && options.timeLimit <= 0;
  if (count <= mostItems) {
    ArenaEffort some = !ejects ? effort : isDefault ? ArenaEffort(effortBeforeEjection, 0) : effort.share(2);
    PartSearch(part, options, some, result).run(enough);
    effort.spend(some.used() - (ejects ? 0 : effort.used()));
  }
  int64_t bound = std::max(enough, result.lowerBound);
  if (!ejects || result.placement.height <= bound)
    return;
  if (isDefault)
    lowerByEjectionTries(part, bound, options.seed, result.placement);
  else
    lowerByEjection(part, bound, options.seed, effort, result.placement);
}

/// Parts above the load share the effort. None has to be lower than what is
/// proven of another.
void improveAll(const std::vector<ArenaProblem> &parts, int64_t load, const PackOptions &options,
                ArenaEffort &effort, std::vector<PartResult> &results) {
  int64_t enough = load;
  std::vector<size_t> open;
  for (size_t i = 0; i < parts.size(); ++i)
    if (results[i].placement.height > load)
      open.push_back(i);
  for (size_t k = 0; k < open.size(); ++k) {
    ArenaEffort share = effort.share(open.size() - k);
    improve(parts[open[k]], enough, options, share, results[open[k]]);
    effort.spend(share.used());
    enough = std::max(enough, results[open[k]].lowerBound);
  }
}

} // namespace

Packing packArena(const std::vector<Buffer> &buffers, const PackOptions &options) {
  std::vector<Buffer> whole = rounded(buffers, options.align);
  ArenaProblems problems = makeArenaProblems(whole);
  int64_t steps = options.effort == 0 && options.timeLimit <= 0 ? packingEffort : options.effort;
  ArenaEffort effort(steps, options.timeLimit);
  std::vector<PartResult> results(problems.parts.size());
  int64_t load = 0;
  for (size_t i = 0; i < results.size(); ++i)
    load = std::max(load, results[i].lowerBound = problems.parts[i].load());
  Packing packing;
  packing.load = load * problems.unit;
  for (const Buffer &buffer : whole)
    packing.lowerBound = std::max(packing.lowerBound, buffer.size);
  packing.height = packing.lowerBound;
  packing.offsets.assign(buffers.size(), 0);
  for (size_t i = 0; i < results.size(); ++i)
    results[i].placement = firstFit(problems.parts[i], load, effort);
  improveAll(problems.parts, load, options, effort, results);
  for (size_t i = 0; i < results.size(); ++i) {
    const ArenaProblem &part = problems.parts[i];
    packing.height = std::max(packing.height, results[i].placement.height * problems.unit);
    packing.lowerBound = std::max(packing.lowerBound, results[i].lowerBound * problems.unit);
    for (size_t k = 0; k < part.items.size(); ++k)
      packing.offsets[part.buffers[k]] = results[i].placement.offsets[k] * problems.unit;
  }
  return packing;
}

Packing packArena(const std::vector<Buffer> &buffers, int64_t align) {
  PackOptions options;
  options.align = align;
  return packArena(buffers, options);
}

int64_t maxLoad(const std::vector<Buffer> &buffers, int64_t align) {
  ArenaProblems problems = makeArenaProblems(rounded(buffers, align));
  int64_t load = 0;
  for (const ArenaProblem &part : problems.parts)
    load = std::max(load, part.load());
  return load * problems.unit;
}

} // namespace kedge::solver
