// Which ops are products, and which of them are heads.
#pragma once
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace kedge::onnx {

/// MatMul or Gemm.
bool isProduct(mlir::Operation *op);
/// Products behind which no other stands before `terminator`: of language models the head.
llvm::DenseSet<mlir::Operation *> headsBefore(mlir::Operation *terminator);

} // namespace kedge::onnx
