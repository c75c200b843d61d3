// What a gradient boils down to before its update: the sum of its squares, and whether all of it is finite.
#pragma once
#include "mlir/IR/Builders.h"

namespace kedge::autodiff {

/// A scalar in f32: rows first, then the tensor.
mlir::Value sumOfSquares(mlir::OpBuilder &builder, mlir::Value gradient);
/// 1 when any element is infinite or no number, else 0; rows first.
mlir::Value anyNotFinite(mlir::OpBuilder &builder, mlir::Value gradient);

} // namespace kedge::autodiff
