// Strategies for operators: costs and bounds against all choices of small instances.
#include "lib/Solver/Shard/ShardState.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace kedge::solver;

namespace {

/// Up to six nodes with up to four strategies, edges of any pairs (twice and to themselves, too), some
/// forbidden.
ShardProblem madeProblem(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int64_t below) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  };
  const int64_t costs = seed % 3 == 0 ? 10 : 100'000;
  const auto cost = [&] { return draw(10) == 0 ? kForbiddenCost : draw(costs); };
  ShardProblem problem;
  const int64_t nodes = 2 + draw(5), times = 1 + draw(6);
  int64_t usage = 0;
  for (int64_t node = 0; node < nodes; ++node) {
    ShardNode made;
    made.begin = draw(times);
    made.end = made.begin + draw(times + 1);
    for (int64_t strategy = draw(4); strategy >= 0; --strategy) {
      made.costs.push_back(cost());
      made.usages.push_back(draw(100));
      usage += made.usages.back();
    }
    problem.nodes.push_back(made);
  }
  for (int64_t edge = draw(2 * nodes); edge > 0; --edge) {
    ShardEdge made{static_cast<int>(draw(nodes)), static_cast<int>(draw(nodes)), {}};
    const auto strategies = [&](int node) { return problem.nodes[static_cast<size_t>(node)].costs.size(); };
    for (size_t pair = strategies(made.from) * strategies(made.to); pair > 0; --pair)
      made.costs.push_back(cost());
    problem.edges.push_back(made);
  }
  problem.limit = usage / (2 + draw(4));
  return problem;
}

/// kForbiddenCost if no strategies are allowed and fit.
int64_t optimum(const ShardProblem &problem) {
  std::vector<int> strategies(problem.nodes.size(), 0);
  int64_t best = kForbiddenCost;
  while (true) {
    if (shardPeak(problem, strategies) <= problem.limit)
      best = std::min(best, shardCost(problem, strategies));
    size_t node = 0;
    while (node < strategies.size() &&
           ++strategies[node] == static_cast<int>(problem.nodes[node].costs.size()))
      strategies[node++] = 0;
    if (node == strategies.size())
      return best;
  }
}

TEST(ShardSolver, CostsAndBoundsEncloseTheOptimum) {
  int solvable = 0, found = 0, optimal = 0, limited = 0;
  for (uint64_t seed = 0; seed < 900; ++seed) {
    SCOPED_TRACE(seed);
    const ShardProblem problem = madeProblem(seed);
    const int64_t best = optimum(problem);
    const ShardSolution solution = solveSharding(problem, {.effort = 100});
    if (best == kForbiddenCost) {
      EXPECT_FALSE(solution.found);
      continue;
    }
    ++solvable;
    EXPECT_FALSE(solution.impossible);
    EXPECT_LE(solution.lowerBound, best);
    ShardProblem loose = problem;
    loose.limit = int64_t{1} << 40;
    limited += optimum(loose) < best;
    if (!solution.found)
      continue;
    ++found;
    EXPECT_GE(solution.cost, best);
    EXPECT_EQ(solution.cost, shardCost(problem, solution.strategies));
    EXPECT_LE(shardPeak(problem, solution.strategies), problem.limit);
    optimal += solution.cost == best;
  }
  EXPECT_GT(solvable, 300);
  EXPECT_GT(limited, 100) << "the limit must matter";
  EXPECT_GE(found, solvable * 99 / 100);
  EXPECT_GE(optimal, solvable * 95 / 100);
  RecordProperty("solvable", solvable);
  RecordProperty("found", found);
  RecordProperty("optimal", optimal);
}

TEST(ShardSolver, EqualEffortGivesEqualAnswers) {
  const ShardProblem problem = madeProblem(7);
  const ShardSolution one = solveSharding(problem, {.effort = 30}),
                      two = solveSharding(problem, {.effort = 30});
  EXPECT_EQ(one.strategies, two.strategies);
  EXPECT_EQ(one.lowerBound, two.lowerBound);
}

/// The least cost of what the model's strategies stand for; each is priced as the model prices it.
int64_t optimumOf(const ShardGraph &graph, const ShardModel &model, const ShardProblem &problem) {
  std::vector<int> labels(model.first.begin(), model.first.end() - 1);
  int64_t best = kForbiddenCost;
  while (true) {
    const ShardState state(model, labels);
    const std::vector<int> strategies = originalStrategies(graph, model, labels);
    const int64_t cost = shardCost(problem, strategies);
    const bool fits = cost < kForbiddenCost && shardPeak(problem, strategies) <= problem.limit;
    EXPECT_EQ(state.fits() && !model.impossible, fits);
    if (fits) {
      EXPECT_EQ(state.worth().cost + model.fixedCost, static_cast<double>(cost));
      best = std::min(best, cost);
    }
    size_t node = 0;
    while (node < labels.size() && ++labels[node] == model.first[node + 1]) {
      labels[node] = model.first[node];
      ++node;
    }
    if (node == labels.size())
      return best;
  }
}

TEST(ShardModel, LeavesOutWhatNoBestSolutionNeeds) {
  size_t gone = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const ShardProblem problem = madeProblem(seed);
    ShardGraph graph = makeShardGraph(problem);
    reduceShardGraph(graph);
    const int64_t best = optimum(problem);
    if (graph.impossible) {
      EXPECT_EQ(best, kForbiddenCost);
      continue;
    }
    const ShardModel model = makeShardModel(graph);
    EXPECT_LE(model.times, static_cast<int>(problem.nodes.size()));
    EXPECT_EQ(optimumOf(graph, model, problem), best);
    gone += problem.nodes.size() - static_cast<size_t>(model.nodes());
  }
  EXPECT_GT(gone, 500u) << "nodes must go";
}

/// Two nodes of 6 at one time, a limit of 10: one must take the dear strategy that uses 3. Another time is
/// within it.
TEST(ShardSolver, PaysForWhatDoesNotFit) {
  ShardProblem problem;
  problem.nodes = {{0, 2, {0, 50}, {6, 3}}, {1, 3, {0, 40}, {6, 3}}, {2, 3, {7}, {1}}};
  problem.limit = 10;
  ShardGraph graph = makeShardGraph(problem);
  reduceShardGraph(graph);
  EXPECT_EQ(makeShardModel(graph).times, 1);
  const ShardSolution solution = solveSharding(problem, {});
  ASSERT_TRUE(solution.found);
  EXPECT_EQ(solution.strategies, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(solution.cost, 47);
  EXPECT_GT(solution.lowerBound, 7);
  problem.limit = 5;
  EXPECT_EQ(solveSharding(problem, {}).found, false);
  problem.limit = 2;
  EXPECT_TRUE(solveSharding(problem, {}).impossible);
}

/// Costs of 2^58 with messages of any size: what rounding loses is taken off.
TEST(ShardSolver, BoundsAreBelowLargeCosts) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    ShardProblem problem = madeProblem(seed);
    for (ShardNode &node : problem.nodes)
      for (int64_t &cost : node.costs)
        cost = cost >= kForbiddenCost ? cost : cost * 1'000'003 * 1'009 + static_cast<int64_t>(seed);
    const int64_t best = optimum(problem);
    const ShardSolution solution = solveSharding(problem, {.effort = 60});
    EXPECT_LE(solution.lowerBound, best) << "seed " << seed;
  }
}

/// A limit that is over before the first pass: one pass is made, and its labels are what is left.
TEST(ShardSolver, AnswersWhenThereIsNoTime) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const ShardProblem problem = madeProblem(seed);
    const ShardSolution solution = solveSharding(problem, {.effort = 1, .seconds = 1e-9, .seed = 3});
    if (solution.impossible)
      continue;
    ASSERT_EQ(solution.strategies.size(), problem.nodes.size());
    EXPECT_EQ(solution.cost, shardCost(problem, solution.strategies));
    EXPECT_LE(solution.lowerBound, optimum(problem));
  }
}

} // namespace
