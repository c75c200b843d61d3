// How the threads of a product share its work. Each claims panels of B to pack and regions
// of C to compute when it is free, and waits only for what it needs next. So a thread that
// the system has suspended delays only what depends on the region it is working on.
#pragma once
#include "runtime/exec/Signal.h"
#include <array>

namespace kedge::rt::cpu {

/// Sizes of a product, in panels of the tile.
struct GemmCut {
  int members;             ///< threads that share the product
  int64_t rowPanels;       ///< of A
  int64_t rowPanelsABlock; ///< row panels that fit a member's block of A
  int64_t columnPanels;    ///< of one block of B
  double panelFlops;       ///< FLOPs of one panel of A times one of B
  int64_t columnBlocks, depthBlocks;
  double regionFlops = 16e6; ///< about 0.2 ms: small beside a process's time slice, large beside a claim
};

/// Blocks of B follow each other, all depths of one column range first, and are packed into two buffers in
/// turn. C is cut into regions (row blocks x chunks of columns), the same for every block. A region adds its
/// depth blocks in order.
class GemmTeam {
public:
  explicit GemmTeam(const GemmCut &cut);

  int64_t blocks() const { return blocks_; }
  int64_t depthBlocks() const { return depthBlocks_; }
  int64_t depthBlock(int64_t block) const { return block % depthBlocks_; }
  int64_t columnBlock(int64_t block) const { return block / depthBlocks_; }

  // Every member goes through all blocks in order, and calls these functions in order for each block.

  /// Waits until the buffer of `block` is free.
  void awaitBuffer(int64_t block);
  /// Claims a share of B's panels to pack; -1: none left.
  int64_t claimPack(int64_t block);
  void packed(int64_t block);
  void awaitPacked(int64_t block);
  /// Claims a region to compute, the member's own rows first; -1: none left.
  int64_t claimRegion(int64_t block, int member);
  /// Waits until the earlier depth blocks have been added to the region.
  void awaitRegion(int64_t block, int64_t region);
  void computed(int64_t block, int64_t region);
  /// Waits until all regions of `block` are computed.
  void awaitComputed(int64_t block);

  struct Range {
    int64_t begin, end;
  };
  /// The range of panels of pack share `share`, and that of the chunk of `region`.
  Range packPanels(int64_t share, int64_t columnPanels) const {
    return part(share, packShares_, columnPanels);
  }
  Range columnPanels(int64_t region, int64_t columnPanels) const {
    return part(region % chunks_, chunks_, columnPanels);
  }
  int64_t rowBlock(int64_t region) const { return region / chunks_; }
  Range rowPanels(int64_t region) const { return part(rowBlock(region), rowBlocks_, rowPanels_); }

private:
  static constexpr int64_t kMostRegions = 1024;
  static constexpr int kMostLanes = 32;

  static Range part(int64_t index, int64_t parts, int64_t size) {
    return {size * index / parts, size * (index + 1) / parts};
  }
  /// Claims the next number in [block / 2 * count, (block / 2 + 1) * count) and returns it minus
  /// the first; -1: none left. Even and odd blocks have counters of their own, which only grow.
  static int64_t claim(std::atomic<int64_t> &counter, int64_t block, int64_t count);
  static bool isComplete(const std::atomic<int64_t> &counter, int64_t block, int64_t count) {
    return counter.load(std::memory_order_acquire) >= (block / 2 + 1) * count;
  }

  int64_t rowPanels_, blocks_, depthBlocks_, rowBlocks_, chunks_, regions_, packShares_;
  int lanes_;
  Signal progress_;
  struct alignas(64) Counters {
    std::atomic<int64_t> claimed[2], done[2];
    Counters() : claimed{0, 0}, done{0, 0} {}
  };
  Counters packs_, regionsDone_;
  std::array<Counters, kMostLanes> lane_;
  /// How many blocks a region has finished. Before block b begins, all regions have finished b - 1 of them,
  /// so once block b - 1 is done the count is b. Only the first regions_ entries are used and set: most
  /// products have few.
  std::atomic_ref<int64_t> behind(int64_t region) { return std::atomic_ref(behind_[region]); }
  int64_t behind_[kMostRegions];
};

} // namespace kedge::rt::cpu
