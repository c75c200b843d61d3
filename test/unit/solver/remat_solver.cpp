// Plans and bounds against all plans of small problems; sweeps; structured graphs.
#include "RematProblems.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kedge::solver;
using namespace kedge::solver::test;

namespace {

double requiredCost(const RematProblem &problem) {
  double result = 0;
  for (int node : problem.order)
    result += problem.nodes[node].cost;
  return result;
}

struct Tally {
  int optimal = 0, plans = 0, tightBounds = 0, paid = 0, impossible = 0;
};

void compareWithAllPlans(const RematProblem &problem, bool freeOrder, Tally &tally) {
  RematOptions options;
  options.freeOrder = freeOrder;
  options.effort = 40'000;
  int64_t peak = peakOf(problem, problem.order);
  for (int64_t budget = peak; budget > 0; budget -= std::max<int64_t>(1, peak / 12)) {
    options.budget = budget;
    RematPlan plan = rematerialize(problem, options);
    double best = optimum(problem, budget, freeOrder) - requiredCost(problem);
    EXPECT_LE(plan.lowerBound, best + 1e-9) << "budget " << budget;
    ASSERT_EQ(peakOf(problem, plan.sequence), plan.peak);
    if (std::isinf(best)) {
      EXPECT_FALSE(plan.feasible);
      ++tally.impossible;
      break;
    }
    EXPECT_LE(plan.peakLowerBound, budget);
    ++tally.plans;
    tally.paid += best > 0;
    tally.tightBounds += best > 0 && plan.lowerBound > 0;
    if (!plan.feasible)
      continue;
    EXPECT_LE(plan.peak, budget);
    EXPECT_GE(plan.addedCost, best - 1e-9);
    tally.optimal += plan.addedCost <= best + 1e-9;
  }
}

} // namespace

TEST(Rematerialization, SmallProblemsAgainstAllPlans) {
  Tally tally;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compareWithAllPlans(randomProblem(seed), seed % 2 == 0, tally);
  }
  EXPECT_GT(tally.paid, 50);
  EXPECT_GT(tally.impossible, 100);
  EXPECT_GT(tally.tightBounds * 2, tally.paid) << "most bounds say something";
  EXPECT_GE(tally.optimal * 100, tally.plans * 90) << tally.optimal << " of " << tally.plans;
  printf("optimal %d of %d, bounds above zero %d of %d\n", tally.optimal, tally.plans, tally.tightBounds,
         tally.paid);
}
