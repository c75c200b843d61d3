// Better labels by solving trees of nodes again and again, within the memory limit.
#pragma once
#include "lib/Solver/Shard/ShardTrees.h"

namespace kedge::solver {

class ShardLocalSearch {
public:
  /// Prices of memory at each time, of a dual.
  ShardLocalSearch(const ShardModel &model, const std::vector<double> &prices, uint64_t seed);

  /// Solves one neighbourhood of about `size` nodes; takes what is not worse. Where the limit is exceeded,
  /// around there.
  void improve(ShardState &state, int size);

private:
  std::vector<int> seeds(const ShardState &state);
  bool usesAt(int node, int time) const;
  void tryPrices(ShardState &state);

  const ShardModel &model;
  const std::vector<double> &prices;
  ShardTrees trees;
  std::mt19937_64 random;
  double typical = 0; ///< price at a time
  std::vector<double> extra, before;
};

} // namespace kedge::solver
