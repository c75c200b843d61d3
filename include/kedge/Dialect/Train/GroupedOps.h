#pragma once
#include "kedge/Dialect/ONNX/OnnxFamily.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include <string>

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/GroupedOps.h.inc"

namespace kedge::train {
/// The experts that a product's rows have chosen, before reshapes: the same value for all products of a
/// layer.
mlir::Value chosenExperts(mlir::Value experts);

/// A choice of experts, with the first product that follows it.
struct ExpertLayer {
  std::string name; ///< the product's module or node, which no other layer of the function has
  mlir::Value chosen;
  GroupedMatmulOp product;
};
/// Of the forward pass of a function, in its order.
llvm::SmallVector<ExpertLayer> expertLayers(mlir::Operation *function);

/// How many places have each of `count` experts: i64 [count].
mlir::Value countChosen(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value chosen, int64_t count);
} // namespace kedge::train
