// What the optimizers' shapes and bodies share.
#pragma once
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Interfaces/ClusterBody.h"

namespace kedge::train {

/// Results have the types of the first operands.
template <typename Adaptor>
mlir::LogicalResult sameAsFirst(Adaptor adaptor, unsigned count, mlir::SmallVectorImpl<mlir::Type> &types) {
  for (unsigned i = 0; i < count; ++i)
    types.push_back(adaptor.getOperands()[i].getType());
  return mlir::success();
}

inline mlir::Value scaled(ClusterBodyBuilder &b, mlir::Value x, double factor) {
  return factor == 1.0 ? x : b.mul(x, b.constant(x.getType(), factor));
}

} // namespace kedge::train
