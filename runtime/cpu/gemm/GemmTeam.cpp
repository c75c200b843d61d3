#include "runtime/cpu/gemm/GemmTeam.h"
#include "runtime/platform/DisplacedThreads.h"
#include <algorithm>

namespace kedge::rt::cpu {
namespace {

constexpr double kLeastOfRegion = 1.0 / 64; ///< of a region's FLOPs, where there are few

int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

GemmTeam::GemmTeam(const GemmCut &cut)
    : rowPanels_(cut.rowPanels), blocks_(cut.columnBlocks * cut.depthBlocks), depthBlocks_(cut.depthBlocks),
      lanes_(std::min(cut.members, kMostLanes)) {
  const int64_t most = cut.rowPanelsABlock;
  rowBlocks_ = cut.rowPanels >= cut.members
                   ? cut.members * ceilDivide(ceilDivide(cut.rowPanels, cut.members), most)
                   : ceilDivide(cut.rowPanels, most);
  rowBlocks_ = std::min(rowBlocks_, kMostRegions); // beyond that a region packs several blocks of A in turn
  const double columnFlops = static_cast<double>(ceilDivide(cut.rowPanels, rowBlocks_)) * cut.panelFlops;
  const auto chunksOf = [&](double flops) {
    const double columns = std::clamp(flops / columnFlops, 1.0, static_cast<double>(cut.columnPanels));
    return ceilDivide(cut.columnPanels, static_cast<int64_t>(columns));
  };
  chunks_ = std::max(chunksOf(cut.regionFlops), ceilDivide(4 * cut.members, rowBlocks_));
  chunks_ = std::min(
      {chunks_, chunksOf(cut.regionFlops * kLeastOfRegion), std::max<int64_t>(1, kMostRegions / rowBlocks_)});
  regions_ = rowBlocks_ * chunks_;
  packShares_ = std::min<int64_t>(cut.columnPanels, 4 * cut.members);
  for (int64_t region = 0; region < regions_; ++region)
    behind_[region] = 0;
}

int64_t GemmTeam::claim(std::atomic<int64_t> &counter, int64_t block, int64_t count) {
  const int64_t begin = block / 2 * count;
  int64_t next = counter.load(std::memory_order_relaxed);
  while (next < begin + count)
    if (counter.compare_exchange_weak(next, next + 1, std::memory_order_relaxed))
      return next - begin;
  return -1;
}

void GemmTeam::awaitBuffer(int64_t block) {
  if (block >= 2)
    awaitComputed(block - 2);
}

void GemmTeam::awaitComputed(int64_t block) {
  progress_.await([&] { return isComplete(regionsDone_.done[block & 1], block, regions_); },
                  makeRoomForDisplaced);
}

int64_t GemmTeam::claimPack(int64_t block) { return claim(packs_.claimed[block & 1], block, packShares_); }

void GemmTeam::packed(int64_t block) {
  packs_.done[block & 1].fetch_add(1, std::memory_order_release);
  progress_.post();
}

void GemmTeam::awaitPacked(int64_t block) {
  progress_.await([&] { return isComplete(packs_.done[block & 1], block, packShares_); },
                  makeRoomForDisplaced);
}

int64_t GemmTeam::claimRegion(int64_t block, int member) {
  for (int step = 0; step < lanes_; ++step) {
    const int lane = (member + step) % lanes_;
    const Range own = part(lane, lanes_, regions_);
    const int64_t found =
        claim(lane_[static_cast<size_t>(lane)].claimed[block & 1], block, own.end - own.begin);
    if (found >= 0)
      return own.begin + found;
  }
  return -1;
}

void GemmTeam::awaitRegion(int64_t block, int64_t region) {
  if (depthBlock(block) != 0)
    progress_.await([&] { return behind(region).load(std::memory_order_acquire) >= block; },
                    makeRoomForDisplaced);
}

void GemmTeam::computed(int64_t block, int64_t region) {
  // Counted, not set: a member may end a region of the next columns before another ends this one's last
  // depth.
  behind(region).fetch_add(1, std::memory_order_release);
  regionsDone_.done[block & 1].fetch_add(1, std::memory_order_release);
  progress_.post();
}

} // namespace kedge::rt::cpu
