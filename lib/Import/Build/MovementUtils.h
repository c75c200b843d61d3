// Builders of movement ops that choose the cheapest form.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace kedge {

/// onnx.Reshape, or the value itself.
mlir::Value reshape(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, llvm::ArrayRef<int64_t> shape);
/// onnx.Transpose; a reshape when only dimensions of size 1 move; the value itself.
mlir::Value transpose(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, llvm::ArrayRef<int64_t> perm);
/// onnx.Expand, or the value itself.
mlir::Value expand(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, llvm::ArrayRef<int64_t> shape);
/// onnx.Slice of [start, end) along one axis, or the value itself.
mlir::Value sliceAxis(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t axis, int64_t start,
                      int64_t end);
/// The shape without dim `axis`.
llvm::SmallVector<int64_t> without(llvm::ArrayRef<int64_t> shape, int64_t axis);

} // namespace kedge
