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

/// A product that reads a matrix as its second operand, as it is or transposed, and the dimension of the
/// matrix that its outputs run along. No product: null, and 0.
struct MatrixUse {
  mlir::Operation *product = nullptr;
  int64_t outputs = 0;
};
MatrixUse matrixUse(mlir::Value matrix);

} // namespace kedge::onnx
