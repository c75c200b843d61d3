// The least time of a pipeline's step: no schedule of any stages is below it.
#include "lib/Solver/Mesh/PipelineBound.h"
#include "passes/Pipeline/Schedule.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace kedge::pipeline;
using kedge::solver::leastSpan;

namespace {

double wholeOf(const StageWork &stage) { return stage.forward + stage.backward + stage.weights; }

double microOf(const PipelineWork &work) {
  double sum = 0;
  for (const StageWork &stage : work.stages)
    sum += wholeOf(stage);
  return sum;
}

/// What others wait for, at least, of a stage.
double shareOf(const Schedule &schedule, const PipelineWork &work) {
  double least = 1;
  if (schedule.runsWeightsApart())
    for (const StageWork &stage : work.stages)
      least = std::min(least, stage.forward / wholeOf(stage));
  return least;
}

/// Some stages have next to nothing to do.
PipelineWork randomWork(std::mt19937 &random, int64_t ranks, int64_t chunks, int64_t micros) {
  PipelineWork work{ranks, micros, {}};
  const auto draw = [&] {
    const double share = std::generate_canonical<double, 53>(random);
    return random() % 4 == 0 ? 1e-6 : 0.1 + share;
  };
  for (int64_t stage = 0; stage < ranks * chunks; ++stage)
    work.stages.push_back({draw(), draw(), draw()});
  return work;
}

} // namespace

TEST(PipelineBound, NoScheduleOfRandomStagesIsBelow) {
  std::mt19937 random(7);
  for (const char *name : {"gpipe", "1f1b", "interleaved=2", "interleaved=3", "zero-bubble"})
    for (const int64_t ranks : {2, 3, 4})
      for (const int64_t micros : {1, 2, 3, 4, 8})
        for (int draw = 0; draw < 20; ++draw) {
          const Schedule schedule = *Schedule::parse(name);
          const PipelineWork work = randomWork(random, ranks, schedule.chunks, micros);
          const double span = leastSpan({ranks, schedule.chunks, micros}, shareOf(schedule, work));
          EXPECT_LE(span * microOf(work), endOf(slotsOf(schedule, work)) * (1 + 1e-9))
              << name << " " << ranks << " " << micros;
        }
}

TEST(PipelineBound, IsReachedByTheBestStages) {
  const PipelineWork work{2, 2, {{1. / 3, 1. / 6, 1. / 6}, {1. / 6, 1. / 12, 1. / 12}}};
  EXPECT_DOUBLE_EQ(leastSpan({2, 1, 2}), 4. / 3);
  EXPECT_NEAR(endOf(slotsOf(*Schedule::parse("1f1b"), work)), 4. / 3, 1e-12);
}

TEST(PipelineBound, OfTwoChunks) {
  for (const int64_t ranks : {2, 4, 8})
    for (const int64_t micros : {1, 2, 8, 32}) {
      const auto p = static_cast<double>(ranks), q = 1 - 1 / static_cast<double>(micros);
      const double closed =
          1 / (1 - std::pow(q, 2 * p) / (1 - p * std::pow(q, p - 1) / static_cast<double>(micros)));
      const double busy = static_cast<double>(micros) / p;
      EXPECT_NEAR(leastSpan({ranks, 2, micros}), std::max(busy, closed), 1e-9) << ranks << " " << micros;
      EXPECT_GT(leastSpan({ranks, 2, micros}), busy);
      EXPECT_LT(leastSpan({ranks, 2, micros}), leastSpan({ranks, 1, micros}) + 1e-12);
    }
}
