// The problem as the search wants it: what can be left out is left out, in flat arrays.
#pragma once
#include "lib/Solver/Shard/ShardProblem.h"
#include <cstddef>

namespace kedge::solver {

/// An edge as one of its nodes sees it.
struct ShardLink {
  int edge = 0, other = 0;
  bool atFrom = false; ///< this node is the edge's `from`
  size_t outward = 0;  ///< in `prices`: for each strategy of this node, those of the other
  size_t inward = 0;   ///< for each strategy of the other node, those of this one
  size_t messages = 0; ///< of the edge, for each strategy of this node
  size_t opposite = 0; ///< of the edge, for each strategy of the other node
};

struct ShardModel {
  /// Of node i: strategies first[i] to first[i + 1] - 1.
  std::vector<int> first;
  std::vector<int> original; ///< of a strategy, its number in the problem
  std::vector<double> cost;
  std::vector<int64_t> usage;
  /// Of node i: links linkFirst[i] to linkFirst[i + 1] - 1, by the other node.
  std::vector<int> linkFirst;
  std::vector<ShardLink> links;
  /// Of edges, in both orders; what is forbidden has the price `forbidden`, which no solution reaches.
  std::vector<double> prices;
  size_t messages = 0; ///< numbers that all edges have for the strategies of their nodes
  int edges = 0;
  double forbidden = 0;
  /// Of node i: it uses memory at times begin[i] to end[i] - 1. Times at which everything fits are left out.
  std::vector<int> begin, end;
  int times = 0;
  int64_t limit = 0;
  bool impossible = false; ///< some node has no strategy left

  int nodes() const { return static_cast<int>(first.size()) - 1; }
  int strategies(int node) const {
    return first[static_cast<size_t>(node) + 1] - first[static_cast<size_t>(node)];
  }
};

/// Leaves out strategies that are forbidden, that no strategy of a neighbour goes with, or that another one
/// dominates (dead-end elimination: it costs no more for any choice of the neighbours, and uses no more);
/// edges of one pair of nodes become one; of times whose nodes include those of another time, one stays.
ShardModel makeShardModel(const ShardProblem &problem);

} // namespace kedge::solver
