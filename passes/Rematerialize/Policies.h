// The named policies of --recompute as execution sequences.
#pragma once
#include "passes/Rematerialize/Blocks.h"
#include "passes/Rematerialize/Policy.h"

namespace kedge::remat {

/// Which values the policy does not keep for the backward part.
std::vector<bool> droppedBy(const Policy &policy, const RecomputeGraph &graph, const Blocks &blocks);

/// The problem's order in which every dropped value is computed again, and every value of `fetched` copied
/// back from host memory, right before its first late reader. Updates that overwrite what is read then wait.
/// Empty when that cannot be executed.
std::vector<int> rebuildLazily(const RecomputeGraph &graph, const std::vector<bool> &dropped,
                               const std::vector<bool> &fetched = {});

} // namespace kedge::remat
