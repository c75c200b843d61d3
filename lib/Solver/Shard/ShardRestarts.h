// Labels to begin the local search with, by a dual whose prices are changed by chance: as they are, or for a
// part of the best labels.
#pragma once
#include "lib/Solver/Shard/ShardDual.h"
#include "lib/Solver/Shard/ShardTrees.h"

namespace kedge::solver {

class ShardRestarts {
public:
  /// `dual` stays at what it keeps.
  ShardRestarts(const ShardModel &model, ShardDual &dual, uint64_t seed);

  /// `best`: the best labels so far; empty: none.
  std::vector<int> next(const std::vector<int> &best);

private:
  std::vector<double> changedPrices();
  void mix(std::vector<int> &labels, const std::vector<int> &others);
  double drawEvenly();

  const ShardModel &model;
  ShardDual &dual;
  std::vector<double> prices; ///< of the dual
  double typical = 0;         ///< of those above 0
  std::mt19937_64 random;
};

} // namespace kedge::solver
