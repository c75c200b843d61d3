#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Train/TrainDialect.h"

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/GroupedOps.h.inc"

namespace kedge::train {
/// The experts that a product's rows have chosen, before reshapes: the same value for all products of a
/// layer.
mlir::Value chosenExperts(GroupedMatmulOp product);
/// How many places have each of `count` experts: i64 [count].
mlir::Value countChosen(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value chosen, int64_t count);
} // namespace kedge::train
