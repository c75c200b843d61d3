// Schedules of a pipeline: the formulas of bubble and micro-batches in flight, and what every order obeys.
#include "passes/Pipeline/Balance.h"
#include "passes/Pipeline/Schedule.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <tuple>

using namespace kedge::pipeline;

namespace {

struct Shape {
  int64_t ranks, micros;
};
const Shape kShapes[] = {{2, 1}, {2, 2}, {2, 5}, {2, 8}, {4, 1}, {4, 2},
                         {4, 3}, {4, 4}, {4, 7}, {4, 8}, {8, 16}};
const char *kNames[] = {"gpipe", "1f1b", "interleaved=2", "interleaved=3", "zero-bubble"};

PipelineWork equalWork(const Schedule &schedule, Shape shape) {
  PipelineWork work{shape.ranks, shape.micros, {}};
  work.stages.resize(static_cast<size_t>(shape.ranks * schedule.chunks));
  return work;
}

/// Stages that differ.
PipelineWork unequalWork(const Schedule &schedule, Shape shape) {
  PipelineWork work = equalWork(schedule, shape);
  for (size_t stage = 0; stage < work.stages.size(); ++stage) {
    const auto place = static_cast<double>(stage);
    work.stages[stage] = {1 + 0.25 * place, 1.5, 0.5 + 0.125 * place, 2, 0.5, 1};
  }
  return work;
}

double share(double part, double rest) { return part / (part + rest); }

/// Each part of each micro-batch once, after what it reads, and one at a time on a rank.
void expectOrder(const std::vector<Slot> &slots, const PipelineWork &work) {
  std::map<std::tuple<Part, int64_t, int64_t>, Slot> found;
  std::vector<double> free(static_cast<size_t>(work.ranks), 0);
  const auto stages = static_cast<int64_t>(work.stages.size());
  for (const Slot &slot : slots) {
    double &until = free[static_cast<size_t>(slot.stage % work.ranks)];
    EXPECT_GE(slot.begin, until);
    EXPECT_GT(slot.end, slot.begin);
    until = slot.end;
    const auto after = [&](Part part, int64_t stage) {
      auto before = found.find({part, stage, slot.micro});
      ASSERT_NE(before, found.end());
      EXPECT_GE(slot.begin, before->second.end);
    };
    if (slot.part == Part::Forward && slot.stage > 0)
      after(Part::Forward, slot.stage - 1);
    if (slot.part == Part::Backward)
      after(slot.stage + 1 == stages ? Part::Forward : Part::Backward, std::min(slot.stage + 1, stages - 1));
    if (slot.part == Part::Weights)
      after(Part::Backward, slot.stage);
    EXPECT_TRUE(found.emplace(std::tuple(slot.part, slot.stage, slot.micro), slot).second);
  }
  for (int64_t stage = 0; stage < stages; ++stage)
    for (int64_t micro = 0; micro < work.microBatches; ++micro)
      EXPECT_TRUE(found.contains({Part::Forward, stage, micro}) &&
                  found.contains({Part::Backward, stage, micro}));
}

} // namespace

TEST(PipelineSchedule, EveryOrderIsOne) {
  for (const char *name : kNames)
    for (Shape shape : kShapes) {
      SCOPED_TRACE(std::string(name) + " of " + std::to_string(shape.ranks) + " ranks, " +
                   std::to_string(shape.micros) + " micro-batches");
      const Schedule schedule = *Schedule::parse(name);
      for (const PipelineWork &work : {equalWork(schedule, shape), unequalWork(schedule, shape)})
        expectOrder(slotsOf(schedule, work), work);
    }
}

TEST(PipelineSchedule, BubbleOfEqualStages) {
  for (Shape shape : kShapes) {
    const auto others = static_cast<double>(shape.ranks - 1), micros = static_cast<double>(shape.micros);
    const auto bubble = [&](const char *name) {
      const Schedule schedule = *Schedule::parse(name);
      return bubbleOf(slotsOf(schedule, equalWork(schedule, shape)), shape.ranks);
    };
    EXPECT_NEAR(bubble("gpipe"), share(others, micros), 1e-12);
    EXPECT_NEAR(bubble("1f1b"), share(others, micros), 1e-12);
    EXPECT_LT(bubble("zero-bubble"), share(others, micros));
    if (shape.micros % shape.ranks == 0) {
      EXPECT_NEAR(bubble("interleaved=2"), share(others / 2, micros), 1e-12);
      EXPECT_NEAR(bubble("interleaved=3"), share(others / 3, micros), 1e-12);
    }
  }
}

TEST(PipelineSchedule, WeightsFillWhatRanksWait) {
  const Schedule zero = *Schedule::parse("zero-bubble");
  for (Shape shape : {Shape{2, 2}, Shape{2, 8}, Shape{4, 4}, Shape{8, 8}}) {
    const auto slots = slotsOf(zero, equalWork(zero, shape));
    EXPECT_NEAR(bubbleOf(slots, shape.ranks),
                share(static_cast<double>(shape.ranks - 1), 3.0 * static_cast<double>(shape.micros)), 1e-12);
  }
}

TEST(PipelineSchedule, MicroBatchesInFlight) {
  for (Shape shape : kShapes)
    for (int64_t rank = 0; rank < shape.ranks; ++rank) {
      const auto inFlight = [&](const char *name) {
        const Schedule schedule = *Schedule::parse(name);
        return inFlightOf(slotsOf(schedule, equalWork(schedule, shape)), shape.ranks, rank);
      };
      EXPECT_EQ(inFlight("gpipe"), shape.micros);
      EXPECT_EQ(inFlight("1f1b"), std::min(shape.micros, shape.ranks - rank));
      EXPECT_LE(inFlight("zero-bubble"), std::min(shape.micros, shape.ranks));
    }
}

TEST(PipelineSchedule, WeightsStayWhereWaitingForThemTakesMemory) {
  const Schedule zero = *Schedule::parse("zero-bubble"), one = *Schedule::parse("1f1b");
  PipelineWork work = equalWork(zero, {4, 8});
  work.stages.back().held = work.stages.back().heldForWeights = 100;
  const auto slots = slotsOf(zero, work);
  EXPECT_EQ(inFlightOf(slots, 4, 3), 1);
  EXPECT_LT(endOf(slots), endOf(slotsOf(one, work)));
  work = equalWork(zero, {4, 8});
  work.stages.front().madeForWeights = 1;
  const std::vector<bool> apart = ranksApart(slotsOf(zero, work), 4);
  EXPECT_EQ(apart, (std::vector<bool>{false, true, true, true}));
  for (StageWork &stage : work.stages)
    stage.madeForWeights = 100;
  EXPECT_EQ(ranksApart(slotsOf(zero, work), 4), std::vector<bool>(4, false));
}

TEST(PipelineSchedule, Names) {
  EXPECT_EQ(Schedule::parse("interleaved=4")->chunks, 4);
  EXPECT_TRUE(Schedule::parse("zero-bubble")->runsWeightsApart());
  for (const char *name : {"", "wave", "interleaved", "interleaved=", "interleaved=1", "interleaved=2x"})
    EXPECT_FALSE(Schedule::parse(name));
}

TEST(PipelineBalance, ShortestLongestStage) {
  const Row row{{1, 1, 1, 1, 4, 1, 1, 1, 1}, std::vector<double>(9, 1), std::vector<bool>(9, true)};
  EXPECT_EQ(balanced(row, 3), (std::vector<int64_t>{0, 0, 0, 0, 1, 2, 2, 2, 2}));
  EXPECT_TRUE(balanced(row, 10).empty());
}

TEST(PipelineBalance, KeepsToTheRoom) {
  // The first stage has four micro-batches under way, the last one; each op has 10 bytes of states.
  Row row{std::vector<double>(20, 1), std::vector<double>(20, 1), std::vector<bool>(20, true),
          std::vector<double>(20, 10), std::vector<double>(20, 0)};
  row.states[0] = 60;
  const auto first = [&](double bytes) {
    const std::vector<int64_t> stages = balanced(row, 4, {bytes, {4, 3, 2, 1}});
    return std::count(stages.begin(), stages.end(), 0);
  };
  EXPECT_EQ(first(1000), 5);
  EXPECT_EQ(first(80), 3);  // 60 + 2 x 10, and nothing enters
  row.held.assign(20, 5);   // of one micro-batch
  EXPECT_EQ(first(110), 4); // 60 + 3 x 10 + 4 x 5
  EXPECT_EQ(first(20), 5);  // none fits: by time alone
}

TEST(PipelineBalance, CountsWhatIsComputedAgain) {
  // Each op takes 3 s, 1 s again, and keeps 5 bytes of a micro-batch. With 100 bytes ten ops take 30 s on the
  // last stage, which has one micro-batch, and 35 s on the first, which has four and computes half of each
  // again.
  Row row{std::vector<double>(40, 3), std::vector<double>(40, 1), std::vector<bool>(40, true)};
  row.states.assign(40, 0);
  row.held.assign(40, 5);
  row.again.assign(40, 1);
  const auto first = [&](double bytes) {
    const std::vector<int64_t> stages = balanced(row, 4, {bytes, {4, 3, 2, 1}});
    return std::count(stages.begin(), stages.end(), 0);
  };
  EXPECT_EQ(first(1000), 10);
  EXPECT_EQ(first(100), 9);
}

TEST(PipelineBalance, CutsWhereFewBytesCross) {
  Row row{std::vector<double>(200, 1), std::vector<double>(200, 8), std::vector<bool>(200, true)};
  row.crossing[98] = 1;
  const std::vector<int64_t> stages = balanced(row, 2);
  EXPECT_EQ(std::accumulate(stages.begin(), stages.end(), int64_t(0)), 200 - 98);
  row.mayCut[98] = false;
  EXPECT_EQ(balanced(row, 2)[98], balanced(row, 2)[97]);
}
