// Neighbourhoods of the local search: nodes whose edges among each other make trees, so that the best labels
// for all of them together, the other nodes being as they are, take one pass.
#pragma once
#include "lib/Solver/Shard/ShardState.h"
#include <random>

namespace kedge::solver {

/// A whole number below `count`, equal on every machine.
inline int drawBelow(std::mt19937_64 &random, int count) {
  return static_cast<int>(random() % static_cast<uint64_t>(count));
}

class ShardTrees {
public:
  explicit ShardTrees(const ShardModel &model);

  /// Nodes around the seeds, in random order, up to `size`.
  void grow(const std::vector<int> &seeds, int size, std::mt19937_64 &random);
  /// What strategies cost next to the labels of all nodes that are not in the trees.
  void price(const ShardState &state);
  /// The least sum of these costs, edges, and usage at a price for each time (summed over the times before
  /// it).
  void solve(const std::vector<double> &pricesBefore);

  const std::vector<int> &nodes() const { return members; }
  const std::vector<int> &labels() const { return best; } ///< of `nodes`

private:
  bool add(int node);
  void send(size_t place);

  const ShardModel &model;
  std::vector<int> placeOf;    ///< of each node in `members`; -1 if it is not in it
  std::vector<int> members;    ///< each after its parent
  std::vector<int> parentLink; ///< of a member, the link to its parent; -1 at a root
  std::vector<size_t> costs;   ///< of a member, where its costs are
  std::vector<double> alone, sum, least;
  std::vector<int> best;
  std::vector<int> border;
};

} // namespace kedge::solver
