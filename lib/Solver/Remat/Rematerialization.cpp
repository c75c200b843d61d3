#include "lib/Solver/Remat/Rematerialization.h"
#include "lib/Solver/ProcessorClock.h"
#include "lib/Solver/Remat/RematBound.h"
#include "lib/Solver/Remat/RematExact.h"
#include "lib/Solver/Remat/RematFold.h"
#include "lib/Solver/Remat/RematFront.h"
#include "lib/Solver/Remat/RematStarts.h"
#include <algorithm>
#include <memory>

namespace kedge::solver {
namespace {

/// Work that a whole front takes by default: about five seconds on one core, less for less than 250 nodes.
/// Where layers are solved once, more nodes need hardly more of it.
int64_t defaultEffort(const RematModel &model, bool folded) {
  int64_t nodes = model.nodeCount;
  return std::min(400'000 * nodes, folded ? 50'000'000 + 2'000 * nodes : 100'000'000 + 10'000 * nodes);
}

/// Some thousand moves.
constexpr int64_t workOnOrder = 100'000;

/// Share of the work for the few layers that stand for all.
constexpr double workOnFold = 0.6;

/// Share of the time limit for the ladder, before the search turns to the budget alone.
constexpr double ladderShare = 0.15, shareBeforeProof = 0.25;
constexpr double foldShare = 0.15;
/// Of the search of all states, with a time limit and without: some seconds and less than one.
constexpr int64_t longProof = 3'500'000'000, shortProof = 400'000'000;
constexpr int fewestToFold = 16, layersToFold = 8;

void addStarts(const RematModel &model, RematFront &front) {
  front.add(model.problem.order);
  for (const std::vector<int> &start : segmentStarts(model))
    front.add(start);
}

/// After the ladder: plans that are good as they are may still be no good ground to begin from.
void addMomentStarts(const RematModel &model, RematFront &front) {
  for (const std::vector<int> &start : momentStarts(model))
    front.add(start);
}

class Solver {
public:
  Solver(const RematProblem &problem, const RematOptions &options)
      : model(problem, options.freeOrder), chain(RematChain::of(model)), options(options), front(model),
        started(ProcessorClock::now()) {
    for (const std::vector<int> &start : options.starts)
      front.add(start);
    addStarts(model, front);
  }

  RematPlan atBudget() {
    // The ladder does not depend on the bound, nor on the budget unless there is a time limit.
    bool possible = true;
    RematBound bound;
    if (options.timeLimit > 0) {
      bound = boundRemat(model, options.budget, infiniteCost);
      possible = bound.peak <= options.budget;
    }
    auto proven = [&] {
      const RematFront::Entry *best = front.within(options.budget);
      return best && best->cost - model.requiredCost <= bound.addedCost * (1 + 1e-9);
    };
    if (!proven())
      climb(options.timeLimit > 0 && possible ? options.budget : 0);
    if (options.timeLimit > 0 && possible)
      focus(bound, proven);
    const RematFront::Entry *best = front.within(options.budget);
    RematPlan plan = unbounded(best ? *best : front.smallestPeak(), options.budget);
    if (options.timeLimit <= 0)
      bound = boundRemat(model, options.budget, plan.feasible ? plan.addedCost : infiniteCost);
    if (options.timeLimit <= 0 && !proven())
      prove(bound, shortProof);
    plan.peakLowerBound = bound.peak;
    plan.lowerBound = bound.addedCost;
    return plan;
  }

  std::vector<RematPlan> all() {
    climb(0);
    std::vector<RematPlan> plans;
    for (const RematFront::Entry &entry : front.all())
      plans.push_back(unbounded(entry, entry.peak));
    return plans;
  }

  RematPlan smallest() {
    const int64_t effort = options.effort > 0 ? options.effort : defaultEffort(model, /*folded=*/false);
    lowerPeak(model, front, ladderOf(effort, 1));
    return unbounded(front.smallestPeak(), options.budget);
  }

private:
  /// The proof needs a good plan to begin from, and ends the search where there is no better one.
  void focus(RematBound &bound, const std::function<bool()> &proven) {
    auto until = [&](double share, uint64_t seed) {
      focusOn(
          model, front, options.budget, seed, [&] { return elapsed() / (share * timeAllowed()); }, proven);
    };
    if (chain) {
      until(shareBeforeProof, options.seed + 1);
      if (!proven())
        prove(bound, longProof);
    }
    until(1, options.seed);
  }

  /// Where first runs come in one order, a search of all states may close the gap between plan and bound.
  void prove(RematBound &bound, int64_t effort) const {
    const RematFront::Entry *best = front.within(options.budget);
    if (!chain || !best)
      return;
    RematProofLimits limits{effort, {}};
    if (options.timeLimit > 0)
      limits.outOfTime = [this] { return elapsed() >= timeAllowed(); };
    double enough = best->cost - model.requiredCost;
    bound.addedCost = std::max(bound.addedCost, proveRemat(*chain, options.budget, enough, limits));
  }

  /// What comes after the search takes a little time, too.
  double timeAllowed() const { return 0.98 * options.timeLimit; }
  double elapsed() const { return ProcessorClock::secondsSince(started); }

  void climb(int64_t lowestBudget) {
    RematLayers layers = findLayers(model, fewestToFold);
    std::optional<RematFold> fold = RematFold::make(model, layers, layersToFold);
    // Where much lies outside of the layers, such as updates behind all gradients, the fold is no smaller
    // problem, and the moves that matter are not those within a layer.
    if (fold && 2 * fold->problem().nodes.size() > model.problem.nodes.size())
      fold.reset();
    const auto usual = static_cast<double>(defaultEffort(model, fold.has_value()));
    int64_t effort = options.effort > 0 ? options.effort : static_cast<int64_t>(options.share * usual);
    if (fold) {
      foldedNodes = static_cast<int>(fold->problem().nodes.size());
      int64_t few = static_cast<int64_t>(workOnFold * static_cast<double>(effort));
      climbFold(*fold, few);
      effort -= few;
    }
    LadderOptions ladder = ladderOf(effort, fold ? foldShare + ladderShare : ladderShare);
    tellBetween(ladder, fold ? workOnFold : 0, 1);
    ladder.lowestBudget = lowestBudget;
    climbLadder(model, front, ladder);
    addMomentStarts(model, front);
  }

  LadderOptions ladderOf(int64_t effort, double share) const {
    LadderOptions ladder;
    ladder.workPerRung = std::max<int64_t>(effort / 60, 1000);
    ladder.seed = options.seed;
    if (options.timeLimit > 0)
      ladder.outOfTime = [this, share] { return elapsed() >= share * timeAllowed(); };
    return ladder;
  }

  /// The ladder's progress is that part of the whole search.
  void tellBetween(LadderOptions &ladder, double from, double to) const {
    if (options.progress)
      ladder.progress = [this, from, to](double share) { options.progress(from + (to - from) * share); };
  }

  /// Layers that are alike are solved as a few, all budgets at once, and what is found holds for all of them.
  void climbFold(RematFold &fold, int64_t effort) {
    RematModel few(fold.problem(), options.freeOrder);
    RematFront plans(few);
    addStarts(few, plans);
    LadderOptions ladder = ladderOf(effort, foldShare);
    tellBetween(ladder, 0, workOnFold);
    climbLadder(few, plans, ladder);
    addMomentStarts(few, plans);
    for (const RematFront::Entry &plan : plans.all())
      for (RematFold::LayerMapping mapping :
           {RematFold::LayerMapping::neighbours, RematFold::LayerMapping::inTurn})
        for (bool patient : {false, true})
          front.add(fold.unfold(plan.sequence, mapping, patient));
  }

  RematPlan unbounded(const RematFront::Entry &entry, int64_t budget) const {
    RematPlan plan;
    plan.feasible = entry.peak <= budget;
    plan.sequence = entry.sequence;
    plan.peak = entry.peak;
    plan.addedCost = std::max(0.0, entry.cost - model.requiredCost);
    plan.foldedNodes = foldedNodes;
    return plan;
  }

  RematModel model;
  std::optional<RematChain> chain;
  const RematOptions &options;
  RematFront front;
  ProcessorClock::time_point started;
  int foldedNodes = 0;
};

} // namespace

RematPlan rematerialize(const RematProblem &problem, const RematOptions &options) {
  return Solver(problem, options).atBudget();
}

std::vector<RematPlan> rematFront(const RematProblem &problem, const RematOptions &options) {
  return Solver(problem, options).all();
}

RematPlan rematSmallest(const RematProblem &problem, const RematOptions &options) {
  return Solver(problem, options).smallest();
}

RematMemo &RematMemo::ofProcess() {
  static RematMemo memo;
  return memo;
}

std::vector<RematPlan> RematMemo::front(const RematProblem &problem, const RematOptions &options) {
  return plans(fronts, rematFront, problem, options);
}

RematPlan RematMemo::smallest(const RematProblem &problem, const RematOptions &options) {
  const Search search = [](const RematProblem &problem, const RematOptions &options) {
    return std::vector{rematSmallest(problem, options)};
  };
  return plans(smallestPlans, search, problem, options).front();
}

std::vector<RematPlan> RematMemo::plans(Entries &entries, Search search, const RematProblem &problem,
                                        const RematOptions &options) {
  if (options.timeLimit > 0)
    return search(problem, options);
  {
    const std::lock_guard lock(mutex);
    for (const Entry &entry : entries)
      if (entry.answers(problem, options))
        return entry.plans;
  }
  std::vector<RematPlan> found = search(problem, options);
  const std::lock_guard lock(mutex);
  entries.push_back({problem, options, found});
  entries.back().options.progress = nullptr;
  if (entries.size() > mostEntries)
    entries.pop_front();
  return found;
}

/// The budget plays no part in them but for `feasible`, which nobody asks of what is kept.
bool RematMemo::Entry::answers(const RematProblem &other, const RematOptions &asked) const {
  return options.effort == asked.effort && options.share == asked.share && options.seed == asked.seed &&
         options.freeOrder == asked.freeOrder && options.starts == asked.starts && problem == other;
}

std::vector<int> rematOtherOrder(const RematProblem &problem, const std::vector<int> &sequence,
                                 uint64_t seed) {
  RematModel model(problem, /*freeOrder=*/true);
  AnnealOptions cold;
  cold.work = workOnOrder;
  cold.startHeat = cold.endHeat = 1e-9;
  cold.last = true;
  return RematSearch(model, seed).anneal(sequence, peakOf(problem, sequence), cold).sequence;
}

RematPlan rematBound(const RematProblem &problem, int64_t budget, bool freeOrder) {
  RematModel model(problem, freeOrder);
  RematBound bound = boundRemat(model, budget, infiniteCost);
  RematPlan plan;
  plan.lowerBound = bound.addedCost;
  plan.peakLowerBound = bound.peak;
  return plan;
}

std::function<double(int64_t)> rematBounds(const RematProblem &problem, bool freeOrder) {
  auto model = std::make_shared<RematModel>(problem, freeOrder);
  auto bounds = std::make_shared<RematBounds>(*model);
  return [model, bounds](int64_t budget) { return bounds->within(budget, infiniteCost).addedCost; };
}

} // namespace kedge::solver
