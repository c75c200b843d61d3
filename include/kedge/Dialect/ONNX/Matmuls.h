// Which ops are matrix products, and which of these are heads.
#pragma once
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace kedge::onnx {

/// MatMul or Gemm.
bool isMatmul(mlir::Operation *op);
/// The products that feed `terminator` without another product in between. In a language model that is the
/// head.
llvm::DenseSet<mlir::Operation *> headsBefore(mlir::Operation *terminator);

} // namespace kedge::onnx
