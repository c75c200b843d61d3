// One strategy for each operator of a model, at the least cost within a memory limit: the problem of Google's
// contest on intra-operator parallelism (IOPDDL, ASPLOS and EuroSys 2025). Without MLIR.
#pragma once
#include "lib/Solver/Shard/ShardProof.h"
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::solver {

/// A cost from here on means that the choice is forbidden.
inline constexpr int64_t kForbiddenCost = 1'000'000'000'000'000'000;

/// Costs and usages are not negative, in any unit; forbidden costs aside, each sums up to less than 2^62 over
/// all nodes and edges.
struct ShardNode {
  int64_t begin = 0, end = 0;  ///< uses memory at the times begin to end - 1; none if they are equal
  std::vector<int64_t> costs;  ///< for each strategy, at least one
  std::vector<int64_t> usages; ///< for each strategy
};

struct ShardEdge {
  int from = 0, to = 0;
  std::vector<int64_t> costs; ///< for each strategy of `from`, those of `to`
};

struct ShardProblem {
  std::string name;
  std::vector<ShardNode> nodes;
  std::vector<ShardEdge> edges;
  int64_t limit = 0; ///< of the sum of usages at each time
};

/// Of a strategy for each node: all costs of nodes and edges, kForbiddenCost if one is forbidden.
int64_t shardCost(const ShardProblem &problem, const std::vector<int> &strategies);

/// The largest sum of usages at a time.
int64_t shardPeak(const ShardProblem &problem, const std::vector<int> &strategies);

struct ShardOptions {
  int64_t effort = 1000; ///< passes over all edges for the bound; the search for solutions grows with it
  double seconds = 0;    ///< of processor time after which both end; 0: no limit
  uint64_t seed = 1;     ///< of the search
};

struct ShardSolution {
  bool found = false;          ///< `strategies` respect the limit and forbid nothing
  bool impossible = false;     ///< proven: no strategies do
  std::vector<int> strategies; ///< one for each node
  int64_t cost = 0;            ///< of them, exact
  int64_t lowerBound = 0;      ///< no strategies within the limit cost less
  ShardProof proof;            ///< of it

  /// Share by which the cost is above the bound; infinite for a bound of 0 below the cost.
  double gap() const;
};

/// Equal for equal options on every machine, unless `seconds` ends it.
ShardSolution solveSharding(const ShardProblem &problem, const ShardOptions &options);

} // namespace kedge::solver
