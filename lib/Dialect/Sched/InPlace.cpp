#include "kedge/Dialect/Sched/InPlace.h"

using namespace mlir;

namespace kedge::sched {

Value rootOf(Value v) {
  while (auto view = v.getDefiningOp<sched::ViewOp>())
    v = view.getInput();
  return v;
}

bool isLaunch(Operation &op) { return isa<ClusterOp, LibraryOp, OffloadOp, FetchOp>(op); }

bool mayOverwrite(OpResult result, Value root) {
  Operation *op = result.getOwner();
  bool reads = llvm::any_of(op->getOperands(), [&](Value v) { return rootOf(v) == root; });
  if (!reads)
    return true;
  auto cluster = dyn_cast<ClusterOp>(op);
  if (!cluster || !cluster.getReduced().empty() || bytesOf(result.getType()) != bytesOf(root.getType()))
    return false;
  Attribute written = cluster.getOutputMaps()[result.getResultNumber()];
  auto type = cast<RankedTensorType>(result.getType());
  for (auto [input, map] : llvm::zip(cluster.getInputs(), cluster.getInputMaps())) {
    if (rootOf(input) != root)
      continue;
    auto inputType = cast<RankedTensorType>(input.getType());
    if (map != written || inputType.getShape() != type.getShape() ||
        inputType.getElementTypeBitWidth() != type.getElementTypeBitWidth())
      return false;
  }
  return true;
}

} // namespace kedge::sched
