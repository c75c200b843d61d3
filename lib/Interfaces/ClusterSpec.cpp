#include "kedge/Interfaces/ClusterBody.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

AffineMap kedge::broadcastMap(MLIRContext *context, ArrayRef<int64_t> domain, ArrayRef<int64_t> shape) {
  SmallVector<AffineExpr> exprs;
  size_t skipped = domain.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    bool stretched = shape[i] == 1 && domain[i + skipped] != 1;
    exprs.push_back(stretched ? getAffineConstantExpr(0, context) : getAffineDimExpr(i + skipped, context));
  }
  return AffineMap::get(domain.size(), 0, exprs, context);
}

void kedge::describeBroadcast(Operation *op, ArrayRef<int64_t> domain, ClusterSpec &spec) {
  spec.domain.assign(domain.begin(), domain.end());
  spec.reduced.assign(domain.size(), false);
  auto mapOf = [&](Value v) {
    return broadcastMap(op->getContext(), domain, cast<RankedTensorType>(v.getType()).getShape());
  };
  for (Value operand : op->getOperands())
    spec.inputMaps.push_back(mapOf(operand));
  for (Value result : op->getResults())
    spec.outputMaps.push_back(mapOf(result));
}

void kedge::describeBroadcast(Operation *op, ClusterSpec &spec) {
  describeBroadcast(op, cast<RankedTensorType>(op->getResult(0).getType()).getShape(), spec);
}
