// Why no strategies cost less than a bound: what made the problem smaller, then prices of memory and messages
// of edges. A checker that knows the problem alone can follow it (test/tools/Inputs/shard_proof.py does).
#pragma once
#include <cstdint>
#include <vector>

namespace kedge::solver {

/// One thing that made the problem smaller.
struct ShardStep {
  enum class Kind {
    Drop,   ///< a strategy that is forbidden, that goes with none of a neighbour, or that another dominates
    Fix,    ///< the only strategy left: edges became costs of the neighbours
    Follow, ///< of the only neighbour: for each of its strategies one is best, whatever memory costs
    Join,   ///< each strategy of a neighbour goes with one alone: edges and all else are the neighbour's now
  };
  Kind kind = Kind::Drop;
  int node = 0;
  int strategy = 0;         ///< dropped or fixed
  int better = -1;          ///< the strategy that dominates the one that is dropped; -1: it is forbidden
  int leader = -1;          ///< the node that this one follows or joins
  std::vector<int> answers; ///< for each strategy of the leader; -1 where it does not stay
};

/// What an edge of the reduced problem takes from its nodes, for each of their strategies that stay.
struct ShardMessages {
  int from = 0, to = 0;
  std::vector<double> ofFrom, ofTo;
};

/// The value: for each node of the reduced problem the least cost of a strategy, with what it uses at the
/// prices and without its messages; for each edge the least of its cost and both messages; less what the
/// limit costs at the prices.
struct ShardProof {
  struct Price {
    int64_t time = 0;
    double price = 0; ///< per unit of memory at this time
  };
  std::vector<ShardStep> steps; ///< in order
  std::vector<Price> prices;
  std::vector<ShardMessages> messages; ///< none: 0
};

} // namespace kedge::solver
