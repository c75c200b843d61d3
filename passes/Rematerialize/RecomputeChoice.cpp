#include "passes/Rematerialize/RecomputeChoice.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "lib/Analysis/LaunchCost.h"

namespace kedge::remat {

bool RecomputeChoice::trains() const {
  std::optional<train::FunctionKind> kind = train::kindOf(mlir::func::FuncOp(graph.function));
  return kind && train::runsInStep(*kind, /*accumulate=*/1) > 0;
}

double RecomputeChoice::addedBy(const std::vector<int> &other) const {
  if (other == graph.problem.order)
    return 0;
  double cost = -seconds;
  for (int node : other)
    cost += graph.problem.nodes[node].cost;
  return std::max(0.0, cost);
}

void RecomputeChoice::take(const std::vector<int> &other, int64_t packed) {
  bytes = packed;
  added = addedBy(other);
  sequence = other;
}

int64_t RecomputeChoice::fetches() const {
  return llvm::count_if(sequence, [&](int node) { return graph.nodes[node].fetched >= 0; });
}

int64_t RecomputeChoice::repeats() const {
  return static_cast<int64_t>(sequence.size() - graph.problem.order.size()) - fetches();
}

double RecomputeChoice::addedFlops() const {
  double flops = 0;
  llvm::DenseSet<int> first;
  for (int node : sequence)
    if (graph.nodes[node].fetched < 0 && (graph.nodes[node].result >= 0 || !first.insert(node).second))
      flops += analysis::costOf(graph.nodes[node].op).flops;
  return flops;
}

} // namespace kedge::remat
