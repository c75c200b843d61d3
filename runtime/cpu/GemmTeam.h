// How the threads of a product share it: which panels of B to pack and which regions of C to compute is claimed as each
// comes to it, and waits are for what is needed, so that a thread which another process has displaced holds up only what
// depends on the region in its hands.
#pragma once
#include "runtime/exec/Signal.h"
#include <array>

namespace kedge::rt::cpu {

/// Sizes of a product, in panels of the tile.
struct GemmCut {
  int members;             ///< threads that share it
  int64_t rowPanels;       ///< of A
  int64_t rowPanelsABlock; ///< that fit into a member's block of A
  int64_t columnPanels;    ///< of one block of B
  double panelFlops;       ///< of one panel of A with one of B
  int64_t columnBlocks, depthBlocks;
};

/// Blocks of B, columns outside, depth inside, are packed into two buffers in turn. C is cut into regions, row blocks by
/// chunks of columns, in the same way for every block. A region adds up its depth blocks in order.
class GemmTeam {
public:
  explicit GemmTeam(const GemmCut &cut);

  int64_t blocks() const { return blocks_; }
  int64_t depthBlock(int64_t block) const { return block % depthBlocks_; }
  int64_t columnBlock(int64_t block) const { return block / depthBlocks_; }

  // Every member goes through all blocks in order, and through these in order.

  /// Until the buffer of `block` is free.
  void awaitBuffer(int64_t block);
  /// A share of B's panels to pack, or -1.
  int64_t claimPack(int64_t block);
  void packed(int64_t block);
  void awaitPacked(int64_t block);
  /// A region to compute, or -1; the member's own rows first.
  int64_t claimRegion(int64_t block, int member);
  /// Until it has what earlier depth blocks add to it.
  void awaitRegion(int64_t block, int64_t region);
  void computed(int64_t block, int64_t region);
  /// Until all regions of `block` are.
  void awaitComputed(int64_t block);

  struct Range {
    int64_t begin, end;
  };
  /// Of `columnPanels`, those of pack share `share`; of the chunk of `region`.
  Range packPanels(int64_t share, int64_t columnPanels) const { return part(share, packShares_, columnPanels); }
  Range columnPanels(int64_t region, int64_t columnPanels) const { return part(region % chunks_, chunks_, columnPanels); }
  int64_t rowBlock(int64_t region) const { return region / chunks_; }
  Range rowPanels(int64_t region) const { return part(rowBlock(region), rowBlocks_, rowPanels_); }

private:
  static constexpr int64_t kMostRegions = 1024;
  static constexpr int kMostLanes = 32;

  static Range part(int64_t index, int64_t parts, int64_t size) {
    return {size * index / parts, size * (index + 1) / parts};
  }
  /// The next number of [block / 2 * count, (block / 2 + 1) * count) less its begin, or -1: counters of even and of odd
  /// blocks only grow.
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
  /// How many blocks each region has behind it: those up to the one before the last are, before a block begins, so that
  /// `block` of them are when the one before it is. Only the first regions_ are in use and set: most products have few.
  std::atomic_ref<int64_t> behind(int64_t region) { return std::atomic_ref(behind_[region]); }
  int64_t behind_[kMostRegions];
};

} // namespace kedge::rt::cpu
