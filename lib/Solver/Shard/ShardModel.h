// The problem as the search wants it: what can be left out is left out, in flat arrays.
#pragma once
#include "lib/Solver/Shard/ShardGraph.h"
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

/// Memory that a node uses at the times `begin` to `end - 1`.
struct ShardSpan {
  int begin = 0, end = 0;
  size_t amounts = 0; ///< in `amounts`: for each strategy
};

struct ShardModel {
  std::vector<int> origin; ///< of a node, its number in the problem
  /// Of node i: strategies first[i] to first[i + 1] - 1.
  std::vector<int> first;
  std::vector<int> original; ///< of a strategy, its number in the problem
  std::vector<double> cost;
  double fixedCost = 0; ///< of nodes that are left out
  /// Of node i: links linkFirst[i] to linkFirst[i + 1] - 1, by the other node.
  std::vector<int> linkFirst;
  std::vector<ShardLink> links;
  std::vector<int> originalEdge; ///< of an edge, its number in the graph
  /// Of edges, in both orders; what is forbidden has the price `forbidden`, which no solution reaches.
  std::vector<double> prices;
  size_t messages = 0; ///< numbers that all edges have for the strategies of their nodes
  int edges = 0;
  double forbidden = 0;
  /// Of node i: spans spanFirst[i] to spanFirst[i + 1] - 1. Amounts begin at 0: what every strategy uses is
  /// taken from `room`. Times at which everything fits are left out.
  std::vector<int> spanFirst;
  std::vector<ShardSpan> spans;
  std::vector<int64_t> amounts;
  std::vector<int64_t> room;   ///< at each time
  std::vector<int64_t> moment; ///< of a time, one of the problem's
  int times = 0;
  bool impossible = false; ///< some node has no strategy left, or what is fixed does not fit

  int nodes() const { return static_cast<int>(first.size()) - 1; }
  int strategies(int node) const {
    return first[static_cast<size_t>(node) + 1] - first[static_cast<size_t>(node)];
  }
  /// Of a strategy, counted over all nodes, in a span of its node.
  int64_t amount(const ShardSpan &span, int node, int strategy) const {
    return amounts[span.amounts + static_cast<size_t>(strategy - first[static_cast<size_t>(node)])];
  }
};

/// Of a reduced graph that is not impossible; of times whose uses include those of another time, one stays.
ShardModel makeShardModel(const ShardGraph &graph);

/// For each node of the problem, from strategies that are counted over all nodes of the model.
std::vector<int> originalStrategies(const ShardGraph &graph, const ShardModel &model,
                                    const std::vector<int> &labels);

} // namespace kedge::solver
