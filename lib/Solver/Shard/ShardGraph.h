// The problem while it gets smaller: strategies that go, nodes that a neighbour or nothing decides.
#pragma once
#include "lib/Solver/Shard/ShardProblem.h"

namespace kedge::solver {

/// What the strategies of a node use from `begin` to `end - 1`: of the node itself, or of nodes that follow
/// it.
struct ShardUse {
  int64_t begin = 0, end = 0;
  std::vector<int64_t> amounts; ///< for each strategy
};

struct ShardGraphNode {
  std::vector<int64_t> costs; ///< with those of the nodes that follow it
  std::vector<ShardUse> uses; ///< of different intervals
  std::vector<char> stays;    ///< for each strategy
  std::vector<int> edges;     ///< to nodes that are still here
  bool gone = false;
};

/// Costs that are forbidden are kForbiddenCost, sums with them too. Edges are of different pairs of nodes.
struct ShardGraph {
  std::vector<ShardGraphNode> nodes;
  std::vector<ShardEdge> edges;
  std::vector<ShardUse> fixed; ///< uses of nodes that are gone, with one amount each
  int64_t fixedCost = 0;
  int64_t limit = 0;
  bool impossible = false; ///< some node has no strategy left
  std::vector<ShardStep> steps;

  int neighbour(int node, int edge) const {
    const ShardEdge &each = edges[static_cast<size_t>(edge)];
    return each.from == node ? each.to : each.from;
  }
  /// Of a strategy of the node with one of its neighbour.
  int64_t price(int node, int edge, size_t strategy, size_t other) const {
    const ShardEdge &each = edges[static_cast<size_t>(edge)];
    const size_t columns = nodes[static_cast<size_t>(each.to)].costs.size();
    return each.costs[each.from == node ? strategy * columns + other : other * columns + strategy];
  }
};

/// Edges of one pair of nodes are one, from the smaller to the larger number; none from a node to itself.
ShardGraph makeShardGraph(const ShardProblem &problem);

/// Until nothing goes any more.
void reduceShardGraph(ShardGraph &graph);

/// Strategies of the nodes that are gone, from those of the nodes that are left.
void followSteps(const ShardGraph &graph, std::vector<int> &strategies);

} // namespace kedge::solver
