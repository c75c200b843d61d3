// peakOf against hand-made cases, and the search's own structure against peakOf.
#include "lib/Solver/Remat/RematSequence.h"
#include "test/unit/solver/RematProblems.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace kedge::solver;
using namespace kedge::solver::test;

TEST(RematReplay, AValueLivesToItsLastReadBeforeItIsMadeAgain) {
  RematProblem chain = graph({{}, {0}, {1}, {2, 0}});
  EXPECT_EQ(bytesPerStep(chain, {0, 1, 2, 3}), (std::vector<int64_t>{1, 2, 3, 3}));
  EXPECT_EQ(bytesPerStep(chain, {0, 1, 2, 0, 3}), (std::vector<int64_t>{1, 2, 2, 2, 3}));
  EXPECT_EQ(peakOf(chain, {0, 2, 1, 3}), -1);
  EXPECT_EQ(peakOf(chain, {0, 1, 2}), -1);
}

TEST(RematReplay, WorkspaceReuseAndKeptValues) {
  RematProblem problem = graph({{}, {0}, {1}}, 4);
  problem.nodes[1].workspace = 10;
  EXPECT_EQ(peakOf(problem, {0, 1, 2}), 18);
  problem.nodes[1].reuses = {{0, 0}};
  EXPECT_EQ(peakOf(problem, {0, 1, 2}), 14);
  problem.values[0].keptToEnd = true;
  EXPECT_EQ(peakOf(problem, {0, 1, 2}), 18);
  EXPECT_EQ(bytesPerStep(problem, {0, 1, 2}).back(), 12);
}

TEST(RematReplay, AnOutputThatDoesNotFitTakesItsOwnBytes) {
  RematProblem problem = graph({{}, {0}}, 4);
  problem.nodes[1].reuses = {{0, 0}};
  problem.values[1].bytes = 5;
  EXPECT_EQ(peakOf(problem, {0, 1}), 9);
}

TEST(RematReplay, RulesOfTheProblem) {
  RematProblem problem = graph({{}, {0}, {1}});
  problem.nodes.push_back(problem.nodes[1]);
  problem.nodes[3].required = false;
  problem.nodes[3].inputs.clear();
  EXPECT_EQ(peakOf(problem, {0, 1, 2, 3}), 2);
  EXPECT_EQ(peakOf(problem, {3, 0, 1, 2}), -1) << "before the required node";
  problem.nodes[2].overwrites = {0};
  EXPECT_EQ(peakOf(problem, {0, 1, 2, 0}), -1);
  problem.nodes[1].repeatable = false;
  EXPECT_EQ(peakOf(problem, {0, 1, 1, 2}), -1);
}

TEST(RematReplay, GivenValuesNeedNoMaker) {
  RematProblem problem = graph({{}, {0}});
  problem.values.push_back({8, true});
  problem.nodes[1].inputs.push_back(2);
  EXPECT_EQ(bytesPerStep(problem, {0, 1}), (std::vector<int64_t>{9, 10}));
}

TEST(RematReplay, AProblemThatContradictsItselfIsRefused) {
  RematProblem problem = graph({{}, {0}});
  problem.order = {1, 0};
  EXPECT_THROW(rematerialize(problem, {}), std::invalid_argument);
  problem = graph({{}, {5}});
  EXPECT_THROW(rematerialize(problem, {}), std::invalid_argument);
  problem = graph({{}, {0}});
  problem.nodes[1].outputs = {0};
  EXPECT_THROW(rematerialize(problem, {}), std::invalid_argument);
}

namespace {

void changeAtRandom(RematSequence &sequence, RematRandom &random, int nodes) {
  int slot = 1 + random.below(sequence.slots() - 1);
  if (random.chance(0.5) && sequence.node(slot) >= 0)
    sequence.remove(slot);
  if (random.chance(0.7))
    sequence.insertBefore(slot, random.below(nodes));
}

/// What has been changed step by step and laid out anew on the way is as if it had been made at once.
void expectSameAsNew(RematSequence &sequence, const RematModel &model) {
  RematSequence made(model, sequence.sequence(), sequence.limit());
  EXPECT_NEAR(sequence.cost(), made.cost(), 1e-9 * made.cost());
  auto sorted = [](std::vector<int> nodes) {
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  };
  EXPECT_EQ(sorted(sequence.nodesRunTwice()), sorted(made.nodesRunTwice()));
  for (int node = 0; node < model.nodeCount; ++node)
    EXPECT_EQ(sequence.occurrences(node).size(), made.occurrences(node).size());
}

} // namespace

TEST(RematSequence, AgreesWithPeakOfThroughRandomChanges) {
  int accepted = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RematProblem problem = seed % 20 ? randomProblem(seed) : trainingStep(3, 4);
    RematModel model(problem, true);
    RematSequence sequence(model, problem.order, peakOf(problem, problem.order) - 2);
    RematRandom random(seed);
    for (int i = 0; i < 400; ++i) {
      changeAtRandom(sequence, random, model.nodeCount);
      int64_t peak = peakOf(problem, sequence.sequence());
      ASSERT_EQ(sequence.valid(), peak >= 0) << "seed " << seed << " change " << i;
      if (peak >= 0) {
        ASSERT_EQ(sequence.peak(), peak) << "seed " << seed << " change " << i;
        ASSERT_EQ(sequence.excess() > 0, peak > sequence.limit());
      }
      bool keep = peak >= 0 && random.chance(0.7);
      keep ? sequence.commit() : sequence.rollback();
      ++(keep ? accepted : refused);
      ASSERT_EQ(sequence.peak(), peakOf(problem, sequence.sequence())) << "seed " << seed << " change " << i;
    }
    expectSameAsNew(sequence, model);
  }
  EXPECT_GT(accepted, 2000);
  EXPECT_GT(refused, 2000);
}
