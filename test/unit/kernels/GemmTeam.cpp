// How the threads of a product wait for each other.
#include "runtime/cpu/gemm/GemmTeam.h"
#include <chrono>
#include <cstdlib>
#include <future>
#include <gtest/gtest.h>
#include <vector>

using kedge::rt::cpu::GemmTeam;

namespace {

std::vector<int64_t> claimAll(GemmTeam &team, int64_t block) {
  std::vector<int64_t> regions;
  for (int64_t region; (region = team.claimRegion(block, 0)) >= 0;)
    regions.push_back(region);
  return regions;
}

// Two blocks of columns with two depths each: blocks 0, 1 and 2, 3. A slow member ends a region of block 1
// after a quick one has ended the same region of block 2, which needs nothing of block 1. Block 3 goes on all
// the same.
TEST(GemmTeam, ALateRegionOfOtherColumnsHoldsUpNothing) {
  GemmTeam team({2, 4, 2, 4, 1e6, 2, 2});
  for (int64_t region : claimAll(team, 0))
    team.computed(0, region);
  const std::vector<int64_t> late = claimAll(team, 1), quick = claimAll(team, 2);
  for (int64_t region : quick)
    team.computed(2, region);
  for (int64_t region : late)
    team.computed(1, region);
  auto waiting = std::async(std::launch::async, [&] {
    for (int64_t region : claimAll(team, 3))
      team.awaitRegion(3, region), team.computed(3, region);
  });
  if (waiting.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
    ADD_FAILURE() << "a region of block 3 waits for ever";
    std::_Exit(1); // the thread that waits cannot be joined
  }
  team.awaitComputed(3);
}

} // namespace
