// Repeated layers: found, folded to a few, and plans for the few as plans for all.
#include "lib/Solver/Remat/RematFold.h"
#include "test/unit/solver/RematProblems.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace kedge::solver;
using namespace kedge::solver::test;

namespace {

double shareAdded(const RematProblem &problem, const std::vector<int> &sequence) {
  double cost = 0, required = 0;
  for (int node : sequence)
    cost += problem.nodes[node].cost;
  for (int node : problem.order)
    required += problem.nodes[node].cost;
  return cost / required - 1;
}

} // namespace

TEST(RematLayers, AreFoundForwardAndBackward) {
  RematProblem problem = trainingStep(24, 7);
  RematModel model(problem, true);
  RematLayers layers = findLayers(model, 16);
  ASSERT_EQ(layers.regions.size(), 2u);
  const RematRegion &forward = layers.regions[0], &backward = layers.regions[1];
  EXPECT_EQ(forward.period, 7);
  EXPECT_EQ(backward.period, 10) << "three updates a layer";
  EXPECT_GE(forward.blocks, 23);
  EXPECT_FALSE(forward.backwards);
  EXPECT_TRUE(backward.backwards);
  // A gradient's layer is that of the forward value it reads.
  int gradient = backward.nodes[3][0], read = problem.nodes[gradient].inputs[1];
  const RematPosition &producer = layers.positionOf[model.producers[read].front()];
  EXPECT_LE(std::abs(forward.layerOf(producer.block) - backward.layerOf(3)), 1);
  EXPECT_TRUE(findLayers(model, 25).regions.empty());
}

TEST(RematLayers, UpdatesBehindTheNormBelongToTheLayersOfTheirGradients) {
  RematProblem problem = trainingStep(24, 7, Updates::behindAll);
  RematModel model(problem, true);
  RematLayers layers = findLayers(model, 16);
  ASSERT_EQ(layers.regions.size(), 3u);
  const RematRegion &backward = layers.regions[1], &updates = layers.regions[2];
  EXPECT_EQ(updates.period, 3);
  EXPECT_TRUE(updates.backwards);
  for (int block : {1, 7, updates.blocks - 2}) {
    int read = problem.nodes[updates.nodes[block][0]].inputs[0];
    const RematPosition &producer = layers.positionOf[model.producers[read].front()];
    ASSERT_EQ(producer.region, 1);
    EXPECT_EQ(backward.layerOf(producer.block), updates.layerOf(block));
  }
}

TEST(RematLayers, ChunksThatAllReadTheLastLayerAreNone) {
  RematProblem problem = trainingStep(24, 7);
  // In front of the gradients: 20 products and losses of the flow, which makes them alike but not of layers.
  RematProblem chunked;
  chunked.values = problem.values;
  chunked.nodes = problem.nodes;
  int flow = problem.nodes[24 * 7].inputs[0];
  std::vector<int> chunks;
  for (int i = 0; i < 40; ++i) {
    RematNode node;
    node.cost = 3 + i % 2;
    node.inputs = {i % 2 ? static_cast<int>(chunked.values.size()) - 1 : flow};
    node.outputs = {static_cast<int>(chunked.values.size())};
    chunked.values.push_back({1 << (14 + i % 2), false, i % 2 == 1});
    chunks.push_back(static_cast<int>(chunked.nodes.size()));
    chunked.nodes.push_back(node);
  }
  chunked.order = problem.order;
  chunked.order.insert(chunked.order.begin() + 24 * 7, chunks.begin(), chunks.end());
  RematModel model(chunked, true);
  RematLayers layers = findLayers(model, 16);
  ASSERT_EQ(layers.regions.size(), 2u) << "forward and backward";
  EXPECT_EQ(layers.positionOf[chunks[10]].region, -1);
  EXPECT_TRUE(RematFold::make(model, layers, 8));
}

TEST(RematLayers, AreNotFoundWhereCostsDiffer) {
  RematProblem problem = trainingStep(24, 7);
  for (size_t node = 0; node < problem.nodes.size(); ++node)
    problem.nodes[node].cost = static_cast<double>(node);
  EXPECT_TRUE(findLayers(RematModel(problem, true), 4).regions.empty());
}

class RematFolds : public testing::TestWithParam<Updates> {};
INSTANTIATE_TEST_SUITE_P(Updates, RematFolds, testing::Values(Updates::atOnce, Updates::behindAll));

TEST_P(RematFolds, StandForAllLayers) {
  RematProblem problem = trainingStep(24, 7, GetParam());
  RematModel model(problem, true);
  RematLayers layers = findLayers(model, 16);
  std::optional<RematFold> fold = RematFold::make(model, layers, 8);
  ASSERT_TRUE(fold);
  EXPECT_LT(fold->problem().nodes.size(), problem.nodes.size() / 2);
  EXPECT_FALSE(RematFold::make(model, layers, 24));
  for (RematFold::LayerMapping mapping :
       {RematFold::LayerMapping::neighbours, RematFold::LayerMapping::inTurn})
    for (bool patient : {false, true})
      EXPECT_EQ(fold->unfold(fold->problem().order, mapping, patient), problem.order);
}

TEST_P(RematFolds, TurnAPlanForAFewLayersIntoOneForAll) {
  RematProblem problem = trainingStep(24, 7, GetParam());
  RematModel model(problem, true);
  RematLayers layers = findLayers(model, 16);
  std::optional<RematFold> fold = RematFold::make(model, layers, 8);
  ASSERT_TRUE(fold);
  const RematProblem &few = fold->problem();
  RematOptions options;
  options.effort = 2'000'000;
  options.budget = peakOf(few, few.order) / 2;
  RematPlan plan = rematerialize(few, options);
  ASSERT_TRUE(plan.feasible);
  double base = static_cast<double>(peakOf(problem, problem.order));
  std::vector<int> whole = fold->unfold(plan.sequence, RematFold::LayerMapping::inTurn, true);
  ASSERT_GT(peakOf(problem, whole), 0) << "a valid execution";
  EXPECT_LT(peakOf(problem, whole), 0.6 * base);
  EXPECT_LT(shareAdded(problem, whole), 1.3 * shareAdded(few, plan.sequence));
}
