// Which values to copy to host memory between their use in the forward and in the backward part.
#pragma once
#include "passes/Rematerialize/Graph.h"

namespace kedge::remat {

/// Values of at least `leastBytes` that a forward launch makes and one that is not forward reads, in the
/// order in which they are made.
std::vector<int64_t> offloadableValues(const RecomputeGraph &graph, int64_t leastBytes);

/// Those of `values` that fit `bytes` together: the dearest to compute again, for their bytes, first.
std::vector<int64_t> withinBytes(const RecomputeGraph &graph, std::vector<int64_t> values, int64_t bytes);

/// rebuildLazily with as many values in host memory as it takes for a peak of `target` bytes or, where that
/// cannot be had, the smallest one: those made first go, whose next use is the farthest.
std::vector<int> offloadLazily(const RecomputeGraph &graph, const std::vector<bool> &dropped, int64_t target);

} // namespace kedge::remat
