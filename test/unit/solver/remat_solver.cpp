// Plans and bounds against all plans of small problems; sweeps; structured graphs.
#include "test/unit/solver/RematProblems.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

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
  options.effort = 100'000;
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
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compareWithAllPlans(randomProblem(seed), seed % 2 == 0, tally);
  }
  EXPECT_GT(tally.paid, 50);
  EXPECT_GT(tally.impossible, 100);
  EXPECT_GT(tally.tightBounds * 2, tally.paid) << "most bounds say something";
  EXPECT_GE(tally.optimal * 100, tally.plans * 94) << tally.optimal << " of " << tally.plans;
  printf("optimal %d of %d, bounds above zero %d of %d\n", tally.optimal, tally.plans, tally.tightBounds,
         tally.paid);
}

namespace {

/// Sweeps budgets from 5% to 100% of the peak without recomputation in steps of 5%.
void sweep(const RematProblem &problem, const RematOptions &common, int fewestFeasible) {
  int64_t peak = peakOf(problem, problem.order);
  double last = std::numeric_limits<double>::infinity();
  int feasible = 0;
  for (int percent = 5; percent <= 100; percent += 5) {
    SCOPED_TRACE(std::to_string(percent) + "%");
    RematOptions options = common;
    options.budget = peak * percent / 100;
    RematPlan plan = rematerialize(problem, options);
    ASSERT_EQ(peakOf(problem, plan.sequence), plan.peak);
    EXPECT_FALSE(feasible && !plan.feasible);
    if (!plan.feasible)
      continue;
    ++feasible;
    EXPECT_LE(plan.peak, options.budget);
    EXPECT_LE(plan.addedCost, last);
    EXPECT_LE(plan.lowerBound, plan.addedCost + 1e-6);
    last = plan.addedCost;
  }
  EXPECT_GE(feasible, fewestFeasible);
  EXPECT_EQ(last, 0);
}

} // namespace

TEST(Rematerialization, TheCostNeverRisesWithTheBudget) {
  RematOptions options;
  options.effort = 100'000;
  sweep(graph({{}, {0}, {1}, {2}, {3}, {4, 3}, {5, 2}, {6, 1}, {7, 0}}, 100), options, 10);
  sweep(trainingStep(5, 6), options, 14);
  options.freeOrder = false;
  sweep(trainingStep(6, 8), options, 14);
}

TEST(Rematerialization, TheFrontIsWhatSingleBudgetsGet) {
  RematProblem problem = trainingStep(4, 6);
  RematOptions options;
  options.effort = 300'000;
  std::vector<double> told;
  options.progress = [&](double share) { told.push_back(share); };
  std::vector<RematPlan> front = rematFront(problem, options);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_GT(told.size(), 10u);
  EXPECT_EQ(told.front(), 0);
  EXPECT_LE(told.back(), 1);
  ASSERT_GT(front.size(), 8u);
  for (size_t i = 0; i < front.size(); ++i) {
    ASSERT_TRUE(front[i].feasible);
    ASSERT_EQ(peakOf(problem, front[i].sequence), front[i].peak);
    if (i > 0) {
      EXPECT_LT(front[i].peak, front[i - 1].peak);
      EXPECT_GT(front[i].addedCost, front[i - 1].addedCost);
    }
  }
  options.budget = front[5].peak;
  EXPECT_EQ(rematerialize(problem, options).sequence, front[5].sequence);
  options.budget = front.back().peak - 1;
  RematPlan none = rematerialize(problem, options);
  EXPECT_FALSE(none.feasible);
  EXPECT_EQ(none.peak, front.back().peak) << "the smallest found";
  options.timeLimit = 0.5;
  options.budget = front[5].peak;
  EXPECT_LE(rematerialize(problem, options).addedCost, front[5].addedCost);
}

TEST(Rematerialization, PlansDependOnTheirOptionsAlone) {
  RematProblem problem = trainingStep(5, 7);
  RematOptions options;
  options.effort = 500'000;
  options.budget = peakOf(problem, problem.order) / 3;
  RematPlan first = rematerialize(problem, options), second = rematerialize(problem, options);
  EXPECT_EQ(first.sequence, second.sequence);
  EXPECT_TRUE(first.feasible);
}

TEST(Rematerialization, GivenOrderKeepsFirstRuns) {
  RematProblem problem = trainingStep(4, 6);
  RematOptions options;
  options.effort = 300'000;
  options.freeOrder = false;
  options.budget = peakOf(problem, problem.order) / 2;
  RematPlan plan = rematerialize(problem, options);
  ASSERT_TRUE(plan.feasible);
  std::vector<int> firstRuns;
  std::vector<char> ran(problem.nodes.size());
  for (int node : plan.sequence) {
    if (!ran[node])
      firstRuns.push_back(node);
    ran[node] = true;
  }
  EXPECT_EQ(firstRuns, problem.order);
  EXPECT_GT(plan.sequence.size(), problem.order.size());
}

TEST(Rematerialization, AStartIsNeverLost) {
  RematProblem problem = graph({{}, {0}, {1}, {2}, {3, 0}});
  RematOptions options;
  options.effort = 1;
  options.budget = 2;
  options.starts = {{0, 1, 2, 3, 0, 4}};
  RematPlan plan = rematerialize(problem, options);
  EXPECT_FALSE(plan.feasible);
  options.budget = 3;
  plan = rematerialize(problem, options);
  ASSERT_TRUE(plan.feasible);
  EXPECT_EQ(plan.addedCost, 0) << "two values and what step 4 makes";
  options.starts = {{4, 0}};
  EXPECT_TRUE(rematerialize(problem, options).feasible) << "a start that is no execution is left out";
}

TEST(Rematerialization, AHostCopyTakesTheDeviceBytesBack) {
  // 0 makes a large value that only the last step reads; 4 copies it out, 5 copies it back; 0 itself costs a
  // lot.
  RematProblem problem = graph({{}, {}, {1}, {2, 0}});
  problem.values[0].bytes = problem.values[1].bytes = problem.values[2].bytes = 10;
  problem.nodes[0].cost = 1000;
  problem.values.push_back({0});
  RematNode out, in;
  out.cost = in.cost = 3;
  out.required = in.required = false;
  out.inputs = {0};
  out.outputs = {4};
  in.inputs = {4};
  in.outputs = {0};
  problem.nodes.push_back(out);
  problem.nodes.push_back(in);
  problem.nodes[1].workspace = 5;
  RematOptions options;
  options.freeOrder = false;
  options.effort = 500'000;
  options.budget = 24;
  RematPlan plan = rematerialize(problem, options);
  ASSERT_TRUE(plan.feasible);
  EXPECT_EQ(plan.addedCost, 6);
  EXPECT_GT(plan.lowerBound, 0);
}

TEST(Rematerialization, ACopyThatMayBeMadeOnceIsMadeOnce) {
  // 0 makes a large value and its copy elsewhere; steps 2 and 4 read the value, 1 and 3 need room. 5 copies
  // back, once.
  RematProblem problem = graph({{}, {}, {0, 1}, {}, {0, 3, 2}});
  for (int value : {0, 1, 3})
    problem.values[value].bytes = 10;
  problem.nodes[0].cost = 1000;
  problem.nodes[1].workspace = problem.nodes[3].workspace = 5;
  problem.values.push_back({0});
  problem.nodes[0].outputs.push_back(5);
  RematNode back;
  back.cost = 6;
  back.required = back.repeatable = false;
  back.inputs = {5};
  back.outputs = {0};
  problem.nodes.push_back(back);
  EXPECT_LT(peakOf(problem, {0, 1, 5, 2, 3, 5, 4}), 0) << "twice";
  RematOptions options;
  options.freeOrder = false;
  options.effort = 500'000;
  options.budget = peakOf(problem, {0, 1, 2, 3, 5, 4});
  ASSERT_LT(options.budget, peakOf(problem, problem.order));
  RematPlan plan = rematerialize(problem, options);
  ASSERT_TRUE(plan.feasible);
  EXPECT_EQ(plan.addedCost, 6);
  EXPECT_LE(plan.lowerBound, 6);
}

TEST(Rematerialization, LayersOfATrainingStep) {
  RematProblem problem = trainingStep(12, 20);
  RematOptions options;
  options.effort = 5'000'000;
  options.budget = peakOf(problem, problem.order) / 4;
  RematPlan plan = rematerialize(problem, options);
  ASSERT_TRUE(plan.feasible);
  double cost = requiredCost(problem);
  EXPECT_LT(plan.addedCost, 0.16 * cost);
  EXPECT_GT(plan.lowerBound, 0.07 * cost);
}
