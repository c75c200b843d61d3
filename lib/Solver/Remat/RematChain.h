// Problems whose first runs come in one order: what the search of all states can take.
#pragma once
#include "lib/Solver/Remat/RematModel.h"
#include "lib/Solver/Remat/RematValueSet.h"
#include <optional>

namespace kedge::solver {

/// Nodes, and the one value of each, are numbered by the order of the first runs.
struct RematChain {
  /// None where first runs may come in several orders, or the problem has more than 256 nodes or anything but
  /// required nodes that make one value each: given or kept values, reuse, overwrites, nodes that run once.
  static std::optional<RematChain> of(const RematModel &model);

  int size = 0;
  double grid = 0; ///< of which all costs are multiples, or 0
  double costPerByte = 0;
  std::vector<double> cost;
  std::vector<int64_t> bytes, workspace;
  std::vector<std::vector<int>> inputs, readers;
  std::vector<RematValueSet> inputSet;

  /// Inputs, output and workspace.
  int64_t bytesOfRun(int node) const;
};

/// Before the first run of node `next`: the values that are there.
struct RematState {
  int next = 0;
  RematValueSet held;
  bool operator==(const RematState &) const = default;
  bool missing(int value) const { return value < next && !held.has(value); }
};

} // namespace kedge::solver
