// One function and the sequence of launches that was chosen for it.
#pragma once
#include "passes/Rematerialize/Blocks.h"

namespace kedge::remat {

/// Bytes are packed transient bytes; seconds are those of the device model.
struct RecomputeChoice {
  RecomputeGraph graph;
  Blocks blocks = {};
  std::vector<int> sequence = {};
  int64_t peak = 0; ///< of its own order, before it is packed
  int64_t bytes = 0, unconstrained = 0;
  int64_t smallest = 0; ///< of the smallest plan known
  double seconds = 0, added = 0, lowerBound = 0;
  int64_t peakLowerBound = 0;
  std::vector<std::vector<int>> plans = {}; ///< to choose from, by rising cost; found once

  bool changed() const { return sequence != graph.problem.order; }
  /// The function is part of a training step; evaluation does not count as overhead.
  bool trains() const;
  /// Seconds that `other` takes more than the function's own order.
  double addedBy(const std::vector<int> &other) const;
  void take(const std::vector<int> &other, int64_t packed);
  /// Of the sequence: values copied back from host memory, launches that run again, and their operations.
  int64_t fetches() const;
  int64_t repeats() const;
  double addedFlops() const;
};

} // namespace kedge::remat
