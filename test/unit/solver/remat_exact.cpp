// The search of all states: what it proves against all plans of small problems, and which problems it takes.
#include "lib/Solver/Remat/RematExact.h"
#include "test/unit/solver/RematProblems.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace kedge::solver;
using namespace kedge::solver::test;

namespace {

/// Each node reads the one before it, unless the order is given anyway, and some others.
RematProblem randomChain(uint64_t seed, bool freeOrder) {
  RematRandom random(seed);
  int nodes = 5 + random.below(4);
  std::vector<std::vector<int>> inputs(nodes);
  for (int node = 1; node < nodes; ++node)
    for (int value = 0; value < node; ++value)
      if (random.chance(0.3) || (freeOrder && value == node - 1))
        inputs[node].push_back(value);
  RematProblem problem = graph(inputs);
  double unit = random.chance(0.5) ? 1 : 0.37;
  for (int node = 0; node < nodes; ++node) {
    problem.nodes[node].cost = unit * random.below(9);
    problem.nodes[node].workspace = random.chance(0.2) ? random.below(5) : 0;
    problem.values[node].bytes = random.below(10);
  }
  return problem;
}

/// Forward and back: each gradient reads the one before it, what its node read and what it made.
RematProblem randomStep(uint64_t seed) {
  RematRandom random(seed);
  constexpr int forward = 6;
  std::vector<std::vector<int>> inputs(2 * forward);
  for (int node = 1; node < 2 * forward; ++node) {
    inputs[node] = {node - 1};
    for (int read : {2 * forward - 1 - node, 2 * forward - 2 - node})
      if (node > forward && read >= 0)
        inputs[node].push_back(read);
  }
  RematProblem problem = graph(inputs);
  for (int node = 0; node < 2 * forward; ++node) {
    problem.nodes[node].cost = 1 + random.below(9);
    problem.values[node].bytes = 1 + random.below(9);
  }
  return problem;
}

struct Tally {
  int paid = 0, proven = 0;
};

void compareWithAllPlans(const RematProblem &problem, bool freeOrder, Tally &tally) {
  RematModel model(problem, freeOrder);
  std::optional<RematChain> chain = RematChain::of(model);
  ASSERT_TRUE(chain);
  int64_t peak = peakOf(problem, problem.order);
  for (int64_t budget = peak; budget > 0; budget -= std::max<int64_t>(1, peak / 12)) {
    double best = optimum(problem, budget, freeOrder) - model.requiredCost;
    if (std::isinf(best))
      break;
    RematProofLimits limits{100'000'000, {}};
    double proven = proveRemat(*chain, budget, best, limits);
    EXPECT_LE(proven, best + 1e-9) << "budget " << budget;
    tally.paid += best > 0;
    tally.proven += best > 0 && proven >= best - 1e-6;
    for (double more : {0.5, 3.0, 50.0})
      EXPECT_LE(proveRemat(*chain, budget, best + more, limits), best + 1e-9)
          << "budget " << budget << ", of a plan that costs " << more << " more than the best";
    limits.effort = 3000;
    EXPECT_LE(proveRemat(*chain, budget, best + 3, limits), best + 1e-9) << "ended early";
  }
}

} // namespace

TEST(RematExact, ProvesNoMoreThanTheBestOfAllPlans) {
  Tally tally;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    bool freeOrder = seed % 2 == 0;
    compareWithAllPlans(randomChain(seed, freeOrder), freeOrder, tally);
  }
  printf("proven %d of %d\n", tally.proven, tally.paid);
  EXPECT_GT(tally.paid, 200);
  EXPECT_GE(tally.proven * 100, tally.paid * 90) << tally.proven << " of " << tally.paid;
}

TEST(RematExact, ProvesMoreThanOneMoment) {
  int better = 0, closed = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RematProblem problem = randomStep(seed);
    RematModel model(problem, true);
    RematOptions options;
    options.effort = 100'000;
    options.budget = peakOf(problem, problem.order) * 6 / 10;
    RematPlan plan = rematerialize(problem, options);
    if (!plan.feasible)
      continue;
    double best = optimum(problem, options.budget, true) - model.requiredCost;
    double oneMoment = rematBound(problem, options.budget, true).lowerBound;
    EXPECT_LE(plan.lowerBound, best + 1e-9);
    EXPECT_GE(plan.lowerBound, oneMoment);
    better += plan.lowerBound > oneMoment + 1e-6;
    closed += oneMoment < best - 1e-6 && plan.lowerBound > best - 1e-6;
  }
  printf("better than one moment %d, closed %d\n", better, closed);
  EXPECT_GT(better, 0);
  EXPECT_GT(closed, 0);
}

TEST(RematExact, TakesOnlyWhatItKnows) {
  auto takes = [](const RematProblem &problem, bool freeOrder) {
    return RematChain::of(RematModel(problem, freeOrder)).has_value();
  };
  RematProblem plain = graph({{}, {0}, {1, 0}});
  EXPECT_TRUE(takes(plain, true));
  EXPECT_FALSE(takes(graph({{}, {0}, {0}}), true)) << "two orders";
  EXPECT_TRUE(takes(graph({{}, {0}, {0}}), false));
  RematProblem kept = plain, given = plain, once = plain, reuses = plain, overwrites = plain, two = plain;
  kept.values[2].keptToEnd = true;
  EXPECT_FALSE(takes(kept, true));
  given.values.push_back({1, true});
  EXPECT_FALSE(takes(given, true));
  once.nodes[1].repeatable = false;
  EXPECT_FALSE(takes(once, true));
  reuses.nodes[1].reuses.push_back({0, 0});
  EXPECT_FALSE(takes(reuses, true));
  overwrites.nodes[2].overwrites.push_back(0);
  EXPECT_FALSE(takes(overwrites, true));
  two.values.push_back({1});
  two.nodes[0].outputs.push_back(3);
  EXPECT_FALSE(takes(two, true));
}
