// Which values the precision passes speak of.
#pragma once
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Interfaces/PrecisionOpInterface.h"
#include "mlir/IR/Operation.h"

namespace kedge::precision {

using train::kPrecision;

inline bool isWorkingType(mlir::Type type) { return type.isF32() || type.isBF16() || type.isF16(); }

/// A tensor of f32 or 16-bit floats that is no scalar.
inline bool isCastable(mlir::Value value) {
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && type.getRank() > 0 && isWorkingType(type.getElementType());
}

/// Whether the op's precision holds for this operand.
inline bool isGoverned(mlir::OpOperand &operand) {
  auto op = mlir::dyn_cast<PrecisionOpInterface>(operand.getOwner());
  return isCastable(operand.get()) && !(op && op.takesAnyFloat(operand.getOperandNumber()));
}

} // namespace kedge::precision
