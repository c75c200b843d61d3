// How a nest is walked: which dim lies in vector lanes, what one iteration of the launch covers.
#pragma once
#include "passes/Lower/Cluster/ClusterNest.h"
#include <optional>

namespace kedge::lower {

/// Depends on the nest only, so that equal clusters compute equal bits everywhere.
struct LoopPlan {
  unsigned lanesDim = 0;     ///< dim in vector lanes
  bool lanesReduced = false; ///< and it is a reduced one
  unsigned width = 1;        ///< lanes of a vector
  unsigned copies = 1;       ///< vectors a step; 64 partial results a reduction when lanesReduced
  int64_t block = 1;         ///< elements of lanesDim an iteration covers (lanesDim parallel)
  /// Parallel dim that inputs are contiguous along while they stride over the lanes: it is walked innermost
  /// in tiles of `width`, and such inputs are transposed in registers.
  std::optional<unsigned> tileDim;
  /// Parallel dim of two that outputs are contiguous along while they stride by two over the lanes: both its
  /// results are computed, then stored interleaved.
  std::optional<unsigned> pairDim;
  llvm::SmallVector<unsigned> parallel; ///< other parallel dims, outermost first
  llvm::SmallVector<unsigned> reduced;  ///< other reduced dims, outermost first
  unsigned outer = 0; ///< loops of the launch's iteration space; parallel dims, then the blocks
  int64_t iterations = 1;
  int64_t grain = 1;

  int64_t blocks(const ClusterNest &nest) const;
  /// Whether an input is one of those that tiles transpose.
  bool isTransposed(const Access &input) const;

  static LoopPlan of(const ClusterNest &nest);
};

} // namespace kedge::lower
