// The engine of ranks under real mpirun, and as torchrun starts them.
#include "runtime/comm/Collective.h"
#include "runtime/comm/Combine.h"
#include "runtime/comm/Launcher.h"
#include "runtime/comm/Rounds.h"
#include "test/unit/runtime/RuntimeTest.h"
#include "test/unit/runtime/Torchrun.h"
#include <chrono>
#include <cmath>

namespace kedge::test {
namespace {

class RuntimeRanks : public RuntimeTest, public ::testing::WithParamInterface<const char *> {
protected:
  RunResult check(int ranks, const std::string &what) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string program = KEDGE_RANK_CHECKS " " + what + " " + path("in");
    RunResult result = runCommand(GetParam() == std::string("mpirun")
                                      ? "timeout 600 mpirun --allow-run-as-root --oversubscribe -np " +
                                            std::to_string(ranks) + " " + program
                                      : torchrun(ranks, program));
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
  }

  /// A rank goes: the others end by themselves, in time, and one of them says who it was and where they
  /// waited.
  void expectLoss(const std::string &how, const std::string &words) {
    const RunResult result = check(3, how);
    EXPECT_NE(result.code, 0);
    EXPECT_LT(seconds, 120); // no hang; an idle machine takes 5
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    const size_t first = result.err.find("kedge: error: ");
    ASSERT_NE(first, std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("kedge: error: ", first + 1), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("dist.reduce_scatter at a check"), std::string::npos) << result.err;
  }

  double seconds = 0;
};

TEST_P(RuntimeRanks, EveryCollectiveAtEverySize) {
  for (int ranks : {2, 3, 4, 6}) {
    const RunResult result = check(ranks, "collectives");
    EXPECT_EQ(result.code, 0) << ranks << " ranks\n" << result.err;
    EXPECT_EQ(result.out, "all is well\n");
  }
}

TEST_P(RuntimeRanks, ARankThatIsBusyKillsNobody) {
  const RunResult result = check(3, "pause");
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_P(RuntimeRanks, ARankThatFailsEndsAll) {
  const RunResult result = check(3, "fail");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("kedge: error: rank 2: the disk is full"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("the disk"), result.err.rfind("the disk")) << result.err;
}

TEST_P(RuntimeRanks, ARankThatIsKilled) { expectLoss("kill", "rank 2 is gone"); }
TEST_P(RuntimeRanks, ARankThatIsStopped) { expectLoss("stop", "rank 2 has not been heard of for 1.5 s"); }
TEST_P(RuntimeRanks, ARankThatLeavesEarly) { expectLoss("leave", "rank 2 is gone"); }

/// Its place along both axes, and where another was.
TEST_P(RuntimeRanks, ARankOfAMeshThatIsKilled) {
  const RunResult result = check(4, "mesh");
  EXPECT_NE(result.code, 0);
  EXPECT_LT(seconds, 120); // no hang; an idle machine takes 5
  EXPECT_NE(result.err.find("rank 3 (replica 1, data 1) is gone"), std::string::npos) << result.err;
  const bool along =
      result.err.find(
          "rank 1 (replica 0, data 1) was in dist.reduce_scatter at a check along replica (ranks 1, 3)") !=
          std::string::npos ||
      result.err.find(
          "rank 2 (replica 1, data 0) was in dist.reduce_scatter at a check along data (ranks 2, 3)") !=
          std::string::npos ||
      result.err.find("rank 0 (replica 0, data 0) was in an agreement of all ranks") != std::string::npos;
  EXPECT_TRUE(along) << result.err;
}

INSTANTIATE_TEST_SUITE_P(By, RuntimeRanks, ::testing::Values("mpirun", "torchrun"),
                         [](const auto &info) { return std::string(info.param); });

TEST(RuntimeCombine, ANaNOfAnyRankStaysTheMaximum) {
  for (size_t rank = 0; rank < 3; ++rank) {
    float values[] = {1, 3, 2}, most = 0;
    values[rank] = std::nanf("");
    const char *sources[3];
    for (size_t r = 0; r < 3; ++r)
      sources[r] = reinterpret_cast<const char *>(&values[r]);
    rt::combine(rt::Reduction::Max, false, rt::DType::F32, sources, 3, &most, 1);
    EXPECT_TRUE(std::isnan(most)) << rank;
  }
}

TEST(RuntimeRounds, EveryElementIsInOneRound) {
  for (int64_t ranks : {2, 3, 7, 64})
    for (rt::CollectiveKind kind :
         {rt::CollectiveKind::ReduceScatter, rt::CollectiveKind::AllGather, rt::CollectiveKind::AllReduce}) {
      rt::Collective collective{kind, rt::Reduction::Sum, false, {}, nullptr, false, ""};
      for (int64_t n : {5, 1, 300007, 0, 17, 2000003, 3, 3})
        collective.tensors.push_back({nullptr, nullptr, n, rt::DType::F32});
      EXPECT_LE(rt::collectiveWorkspace(collective, ranks), rt::kMostWorkspace);
      for (int64_t rank = 0; rank < ranks; ++rank) {
        std::vector<int64_t> next(collective.tensors.size());
        for (size_t t = 0; t < next.size(); ++t)
          next[t] = rt::partOf(kind, collective.tensors[t].elements, rank, ranks).first;
        for (rt::Rounds rounds(collective, ranks); !rounds.isDone();) {
          const rt::Round round = rounds.take();
          for (size_t t = round.begin; t < round.end; ++t) {
            const rt::ElementRange piece = rt::pieceOf(collective, round, t, rank, ranks);
            if (piece.count > 0) {
              EXPECT_EQ(piece.first, next[t]);
            }
            next[t] += piece.count;
          }
        }
        for (size_t t = 0; t < next.size(); ++t) {
          const rt::ElementRange part = rt::partOf(kind, collective.tensors[t].elements, rank, ranks);
          EXPECT_EQ(next[t], part.first + part.count);
        }
      }
    }
}

} // namespace
} // namespace kedge::test
