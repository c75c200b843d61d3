// The thread pool: every part once, slots of its own for each thread at work, exceptions, loops within loops,
// two callers, threads that come late; and the claims of a product's team.
#include "runtime/cpu/gemm/GemmTeam.h"
#include "runtime/exec/ThreadPool.h"
#include <gtest/gtest.h>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace kedge::rt {
namespace {

TEST(RuntimeThreads, EveryPartRunsOnce) {
  for (int round = 0; round < 200; ++round)
    for (int threads : {1, 2, 3, 7}) {
      const int64_t parts = (round * 13) % 97;
      std::vector<int> ran(static_cast<size_t>(parts)); // not atomic: the pool orders what parts write
      parallelParts(threads, parts, [&](int64_t part) { ++ran[static_cast<size_t>(part)]; });
      EXPECT_EQ(ran, std::vector<int>(static_cast<size_t>(parts), 1)) << threads << " threads";
    }
}

TEST(RuntimeThreads, RangesCoverOnceAndKeepTheGrain) {
  for (int64_t n : {0, 1, 5, 64, 1000})
    for (int64_t grain : {1, 7, 2000}) {
      std::vector<int> seen(static_cast<size_t>(n));
      parallelFor(3, n, grain, [&](int64_t begin, int64_t end) {
        EXPECT_TRUE(end - begin >= grain || (begin == 0 && end == n)) << begin << ".." << end;
        for (int64_t i = begin; i < end; ++i)
          ++seen[static_cast<size_t>(i)];
      });
      EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(n), 1));
    }
}

TEST(RuntimeThreads, SlotsAreBelowTheThreadsAndTakenOnce) {
  startThreads(6); // more than the loop uses: the others keep out
  for (int round = 0; round < 300; ++round) {
    std::vector<int64_t> scratch(3); // unsynchronised: two threads in one slot would race
    int64_t sum = 0;
    parallelParts(3, 30, [&](int64_t part) {
      ASSERT_LT(threadSlot(), 3);
      scratch[static_cast<size_t>(threadSlot())] += part;
    });
    for (int64_t value : scratch)
      sum += value;
    EXPECT_EQ(sum, 29 * 15);
  }
  EXPECT_EQ(threadSlot(), 0);
}

TEST(RuntimeThreads, TheFirstExceptionReachesTheCallerAndTheRestRuns) {
  for (int threads : {1, 4})
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> ran{0};
      std::string caught;
      try {
        parallelParts(threads, 20, [&](int64_t part) {
          ++ran;
          if (part % 3 == 1)
            throw std::runtime_error("part " + std::to_string(part));
        });
      } catch (const std::runtime_error &error) {
        caught = error.what();
      }
      EXPECT_EQ(caught, "part 1");
      EXPECT_EQ(ran, 20);
    }
  int after = 0;
  parallelParts(4, 1, [&](int64_t) { ++after; });
  EXPECT_EQ(after, 1);
}

TEST(RuntimeThreads, ALoopWithinALoopStaysOnItsThread) {
  std::vector<int> ran(40);
  parallelParts(4, 8, [&](int64_t outer) {
    const std::thread::id here = std::this_thread::get_id();
    const int slot = threadSlot();
    int64_t last = -1;
    parallelParts(4, 5, [&](int64_t inner) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      EXPECT_EQ(threadSlot(), slot);
      EXPECT_EQ(inner, last + 1);
      last = inner;
      ++ran[static_cast<size_t>(outer * 5 + inner)];
    });
  });
  EXPECT_EQ(ran, std::vector<int>(40, 1));
}

TEST(RuntimeThreads, TwoCallersAtOnce) {
  const auto call = [](int64_t *total) {
    for (int round = 0; round < 500; ++round) {
      std::vector<int64_t> sums(4);
      parallelParts(4, 16, [&](int64_t part) { sums[static_cast<size_t>(threadSlot())] += part; });
      for (int64_t sum : sums)
        *total += sum;
    }
  };
  int64_t first = 0, second = 0;
  std::thread other(call, &second);
  call(&first);
  other.join();
  EXPECT_EQ(first, 500 * 120);
  EXPECT_EQ(second, 500 * 120);
}

/// Whoever is held up in one part, the others do the rest meanwhile.
TEST(RuntimeThreads, ASlowThreadHoldsOnlyItsPart) {
  std::atomic<int> done{0};
  bool waited = false;
  parallelParts(2, 16, [&](int64_t part) {
    if (part == 0) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (done.load() < 15 && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
      waited = done.load() == 15;
    } else {
      ++done;
    }
  });
  EXPECT_TRUE(waited) << "the parts of the thread that waits were left to it";
}

/// Members check what they were promised with plain memory: a claim given twice, a buffer reused too early or
/// a region that runs before its earlier block would be a wrong sum here, and a race for the thread
/// sanitizer.
TEST(RuntimeThreads, TeamsOfProductsKeepTheirOrder) {
  for (int members : {1, 2, 3, 5})
    for (int64_t rowPanels : {1, 3, 40})
      for (int64_t columnPanels : {1, 9}) {
        constexpr int64_t kColumnBlocks = 2, kDepthBlocks = 5; // each sum collects 1 to 5
        cpu::GemmTeam team({members, rowPanels, 8, columnPanels, 2e6, kColumnBlocks, kDepthBlocks});
        std::vector<int64_t> buffers[2] = {std::vector<int64_t>(static_cast<size_t>(columnPanels)),
                                           std::vector<int64_t>(static_cast<size_t>(columnPanels))};
        std::vector<int64_t> sums(static_cast<size_t>(rowPanels * columnPanels));
        parallelParts(members, members, [&](int64_t member) {
          for (int64_t block = 0; block < team.blocks(); ++block) {
            std::vector<int64_t> &buffer = buffers[block & 1];
            team.awaitBuffer(block);
            for (int64_t share; (share = team.claimPack(block)) >= 0; team.packed(block))
              for (auto [panel, end] = team.packPanels(share, columnPanels); panel < end; ++panel)
                buffer[static_cast<size_t>(panel)] = block;
            team.awaitPacked(block);
            if (block > 0 && team.depthBlock(block) ==
                                 0) // sums of the next columns are in the same place, as with GemmFinish
              team.awaitComputed(block - 1);
            for (int64_t region; (region = team.claimRegion(block, static_cast<int>(member))) >= 0;
                 team.computed(block, region)) {
              team.awaitRegion(block, region);
              const auto rows = team.rowPanels(region), columns = team.columnPanels(region, columnPanels);
              for (int64_t row = rows.begin; row < rows.end; ++row)
                for (int64_t column = columns.begin; column < columns.end; ++column) {
                  EXPECT_EQ(buffer[static_cast<size_t>(column)], block);
                  int64_t &sum = sums[static_cast<size_t>(row * columnPanels + column)];
                  sum = (team.depthBlock(block) == 0 ? 0 : sum * 10) + team.depthBlock(block) + 1;
                }
            }
          }
        });
        EXPECT_EQ(sums, std::vector<int64_t>(sums.size(), 12345)) << members << " members";
      }
}

} // namespace
} // namespace kedge::rt
