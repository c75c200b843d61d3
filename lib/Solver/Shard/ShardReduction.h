// Strategies that no best solution needs.
#pragma once
#include "lib/Solver/Shard/ShardProblem.h"

namespace kedge::solver {

/// Edges of one pair of nodes are one, from the smaller to the larger number; none from a node to itself.
/// Costs above kForbiddenCost become it.
ShardProblem mergedEdges(const ShardProblem &problem);

/// Of a problem with merged edges: for each node and strategy whether it stays.
std::vector<std::vector<char>> neededStrategies(const ShardProblem &problem);

} // namespace kedge::solver
