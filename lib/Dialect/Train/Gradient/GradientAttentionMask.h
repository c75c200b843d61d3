// Gradients of attention's mask, for masks that train (relative position biases), and of its sinks.
#pragma once
#include "kedge/Dialect/Train/Gradient/GradientOps.h"

namespace kedge::train {

/// Built of primitives over a matrix of scores that lives in the backward pass only; null when no parameter
/// hangs on the mask.
mlir::Value attentionMaskGradient(mlir::OpBuilder &builder, AttentionOp op, mlir::Value dO);
/// Null when no parameter hangs on the sinks.
mlir::Value attentionSinkGradient(mlir::OpBuilder &builder, AttentionOp op, mlir::Value dO);

} // namespace kedge::train
