// Helpers for the gradients of many ops. Each builds level-2 ops and
// returns their value. In arithmetic, a null Value stands for zero.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace kedge {

/// Sums `grad` over the dims along which `like` was broadcast, to exactly `like`'s type.
mlir::Value reduceTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value grad, mlir::Value like);
/// onnx.Constant splat of `like`'s element type with rank 0.
mlir::Value scalarLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like, double value);
/// onnx.Constant splat of `type`.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type, double value);
/// Zeros of `like`'s type.
mlir::Value zerosLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like);

} // namespace kedge
