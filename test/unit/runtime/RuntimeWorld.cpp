// Ranks and rows: what W ranks read together is what one rank with W times the batch
// reads, and random numbers are keyed by the same rows.
#include "runtime/train/Step.h"
#include "test/unit/runtime/RecordingDevice.h"
#include "test/unit/runtime/tiny/Tiny.h"

namespace kedge::test {
namespace {

class RuntimeWorld : public RuntimeTest {
protected:
  /// What @step or @micro of a rank is given in the first steps.
  std::vector<Given> runRank(const rt::World &world, int64_t batch, int64_t accumulate,
                             std::optional<int64_t> shuffle) {
    auto json = nlohmann::json::parse(
        tiny::programJson("line:" + std::to_string(batch) + ":" + std::to_string(accumulate)));
    const uint64_t end = json["arena"]["bytes"];
    json["arena"]["bytes"] = end + 128;
    json["scalars"].push_back({{"name", "row_base"}, {"dtype", "i64"}, {"offset", end}});
    json["scalars"].push_back({{"name", "rank"}, {"dtype", "i64"}, {"offset", end + 64}});
    const RecordedProgram recorded(json);
    rt::Dataset data(recorded.program,
                     {.kind = "--data",
                      .data = {{"x", path("x.npy")}, {"labels", path("y.npy")}},
                      .tokens = {},
                      .documents = ""},
                     true);
    data.shuffle(shuffle);
    const rt::RunScalars scalars = rt::resolveScalars({}, {}, recorded.program.options);
    rt::StepRunner runner(*recorded.executor, data, scalars, world, rt::NonFiniteStep::Ends);
    RecordedProgram::takeGiven();
    rt::RunProgress progress;
    for (; progress.step < 4; ++progress.step) {
      runner.run(progress);
      progress.samples += rt::rowsInStep(world, batch, accumulate);
    }
    std::vector<Given> forward;
    for (const Given &given : RecordedProgram::takeGiven())
      if (given.function != "update")
        forward.push_back(given);
    return forward;
  }

  void compare(int64_t ranks, int64_t batch, int64_t accumulate, std::optional<int64_t> shuffle) {
    const std::vector<Given> alone = runRank({0, 1}, ranks * batch, accumulate, shuffle);
    ASSERT_EQ(alone.size(), static_cast<size_t>(4 * accumulate));
    std::vector<std::map<std::string, std::string>> together(alone.size());
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const std::vector<Given> own = runRank({rank, ranks}, batch, accumulate, shuffle);
      ASSERT_EQ(own.size(), alone.size());
      for (size_t i = 0; i < own.size(); ++i) {
        for (const auto &[name, bytes] : own[i].inputs)
          together[i][name] += bytes;
        EXPECT_EQ(own[i].scalars.at("row_base"),
                  alone[i].scalars.at("row_base") + static_cast<double>(rank * batch));
        EXPECT_EQ(own[i].scalars.at("rank"), static_cast<double>(rank));
      }
    }
    for (size_t i = 0; i < alone.size(); ++i)
      EXPECT_EQ(together[i], alone[i].inputs)
          << ranks << " ranks, A = " << accumulate << ", micro-batch " << i;
  }
};

TEST_F(RuntimeWorld, RanksReadTogetherWhatOneReadsWithALargerBatch) {
  writeLineData(23); // a run of 4 steps wraps, in the middle of batches
  for (int64_t ranks : {2, 3})
    for (int64_t accumulate : {1, 2}) {
      compare(ranks, 2, accumulate, std::nullopt);
      compare(ranks, 2, accumulate, 11);
    }
}

/// The formula itself: ((sA + a)W + r)B + i.
TEST_F(RuntimeWorld, RowsAreCutByRank) {
  constexpr int64_t A = 3, W = 2, B = 5;
  for (int64_t step = 0; step < 3; ++step)
    for (int64_t micro = 0; micro < A; ++micro)
      for (int64_t rank = 0; rank < W; ++rank) {
        const rt::World world{rank, W};
        const rt::RowRange rows = rt::rowsOfStep(world, B, micro);
        EXPECT_EQ(step * rt::rowsInStep(world, B, A) + rows.first, ((step * A + micro) * W + rank) * B);
        EXPECT_EQ(rows.count, B);
      }
}

/// --same-bits: a rank's rows of each round in as many parts, and all rounds of a part before the next.
TEST_F(RuntimeWorld, PartsOfARankFollowEachOther) {
  constexpr int64_t kRounds = 3, kRows = 24; // of a step, in all
  for (int64_t ranks : {1, 2, 4}) {
    const int64_t parts = 4 / ranks, batch = kRows / kRounds / 4;
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t micro = 0; micro < parts * kRounds; ++micro) {
        const int64_t part = rank * parts + micro / kRounds, round = micro % kRounds; // of four
        const rt::RowRange rows = rt::rowsOfStep({rank, ranks}, batch, micro, parts, kRounds);
        EXPECT_EQ(rows.first, (round * 4 + part) * batch)
            << ranks << " ranks, rank " << rank << ", micro-batch " << micro;
      }
  }
}

} // namespace
} // namespace kedge::test
