#include "kedge/Dialect/Sched/SinglePass.h"

using namespace mlir;

namespace kedge::sched {

bool isAlongFolds(ClusterOp cluster, AffineMap output) {
  return llvm::any_of(cluster.getReduced(), [&](int64_t dim) { return output.isFunctionOfDim(static_cast<unsigned>(dim)); });
}

bool foldsOnce(ClusterOp cluster) {
  llvm::DenseSet<Value> behindFolds;
  for (Operation &op : cluster.getBody().front().without_terminator()) {
    const bool waits = llvm::any_of(op.getOperands(), [&](Value v) { return behindFolds.contains(v); });
    const bool folds = isa<ReduceOp>(op);
    if (folds && waits)
      return false;
    if (folds || waits)
      behindFolds.insert(op.result_begin(), op.result_end());
  }
  Operation *yield = cluster.getBody().front().getTerminator();
  for (auto [value, map] : llvm::zip(yield->getOperands(), cluster.getOutputMaps()))
    if (behindFolds.contains(value) && isAlongFolds(cluster, cast<AffineMapAttr>(map).getValue()))
      return false;
  return !behindFolds.empty();
}

bool waitsForAllFolds(ClusterOp cluster, Value yielded) {
  llvm::DenseSet<Value> needed{yielded};
  for (Operation &op : llvm::reverse(cluster.getBody().front().without_terminator()))
    if (llvm::any_of(op.getResults(), [&](Value v) { return needed.contains(v); }))
      needed.insert(op.operand_begin(), op.operand_end());
    else if (isa<ReduceOp>(op))
      return false;
  return true;
}

} // namespace kedge::sched
