#include "kedge/Solver/Rematerialization.h"
#include "RematBound.h"
#include "RematFront.h"
#include "RematStarts.h"
#include <algorithm>
#include <chrono>
#include <limits>

namespace kedge::solver {
namespace {

using Clock = std::chrono::steady_clock;

/// Work that a whole front takes by default: about five seconds on one core, less for less than 150 nodes.
int64_t defaultEffort(const RematModel &model) {
  int64_t nodes = model.nodeCount;
  return std::min(400'000 * nodes, 50'000'000 + 10'000 * nodes);
}

/// Share of the time limit for the ladder, before the search turns to the budget alone.
constexpr double ladderShare = 0.15;
constexpr double infinite = std::numeric_limits<double>::infinity();

class Solver {
public:
  Solver(const RematProblem &problem, const RematOptions &options)
      : model(problem, options.freeOrder), options(options), front(model), started(Clock::now()) {
    front.add(problem.order);
    for (const std::vector<int> &start : options.starts)
      front.add(start);
    for (const std::vector<int> &start : segmentStarts(model))
      front.add(start);
  }

  RematPlan atBudget() {
    // The ladder does not depend on the bound, nor on the budget unless there is a time limit.
    bool possible = true;
    RematBound bound;
    if (options.timeLimit > 0) {
      bound = boundRemat(model, options.budget, infinite);
      possible = bound.peak <= options.budget;
    }
    auto proven = [&] {
      const RematFront::Entry *best = front.within(options.budget);
      return best && best->cost - model.requiredCost <= bound.addedCost * (1 + 1e-9);
    };
    if (!proven())
      climb(options.timeLimit > 0 && possible ? options.budget : 0);
    if (options.timeLimit > 0 && possible)
      focusOn(
          model, front, options.budget, options.seed, [&] { return elapsed() / options.timeLimit; }, proven);
    const RematFront::Entry *best = front.within(options.budget);
    RematPlan plan = unbounded(best ? *best : front.smallestPeak(), options.budget);
    if (options.timeLimit <= 0)
      bound = boundRemat(model, options.budget, plan.feasible ? plan.addedCost : infinite);
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

private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - started).count(); }

  void climb(int64_t lowestBudget) {
    LadderOptions ladder;
    int64_t effort = options.effort > 0 ? options.effort : defaultEffort(model);
    ladder.workPerRung = std::max<int64_t>(effort / 60, 1000);
    ladder.lowestBudget = lowestBudget;
    ladder.seed = options.seed;
    if (options.timeLimit > 0)
      ladder.outOfTime = [this] { return elapsed() >= ladderShare * options.timeLimit; };
    climbLadder(model, front, ladder);
  }

  RematPlan unbounded(const RematFront::Entry &entry, int64_t budget) const {
    RematPlan plan;
    plan.feasible = entry.peak <= budget;
    plan.sequence = entry.sequence;
    plan.peak = entry.peak;
    plan.addedCost = std::max(0.0, entry.cost - model.requiredCost);
    return plan;
  }

  RematModel model;
  const RematOptions &options;
  RematFront front;
  Clock::time_point started;
};

} // namespace

RematPlan rematerialize(const RematProblem &problem, const RematOptions &options) {
  return Solver(problem, options).atBudget();
}

std::vector<RematPlan> rematFront(const RematProblem &problem, const RematOptions &options) {
  return Solver(problem, options).all();
}

RematPlan rematBound(const RematProblem &problem, int64_t budget, bool freeOrder) {
  RematModel model(problem, freeOrder);
  RematBound bound = boundRemat(model, budget, infinite);
  RematPlan plan;
  plan.lowerBound = bound.addedCost;
  plan.peakLowerBound = bound.peak;
  return plan;
}

} // namespace kedge::solver
