// Formulas of losses as ops of the model's dialect: their gradients follow, and so do devices, ranks and 16
// bits.
#pragma once
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace kedge::autodiff {

using mlir::Value;

/// Short names for ops on f32 tensors. A number takes the type of the value beside it.
struct Formula {
  mlir::OpBuilder &b;
  mlir::Location loc;

  Value add(Value x, Value y);
  Value add(Value x, double y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value mul(Value x, double y);
  Value div(Value x, Value y);
  Value neg(Value x);
  Value abs(Value x);
  Value exp(Value x);
  Value log(Value x);
  Value sqrt(Value x);
  Value sigmoid(Value x);
  Value softplus(Value x);
  Value relu(Value x);
  Value pow(Value x, double exponent);
  Value square(Value x) { return mul(x, x); }
  Value maximum(Value x, double least);
  Value minimum(Value x, Value y);
  Value lessOrEqual(Value x, double y);
  Value lessOrEqual(Value x, Value y);
  Value greater(Value x, double y);
  Value equal(Value x, Value y);
  Value equal(Value x, int64_t y);
  Value negate(Value condition);
  Value both(Value condition, Value other);
  Value where(Value condition, Value x, Value y);
  Value where(Value condition, Value x, double y);
  Value where(Value condition, double x, Value y);
  Value cast(Value x, mlir::Type element);
  Value toF32(Value x);
  Value sum(Value x, llvm::ArrayRef<int64_t> axes, bool keeps = false);
  Value logSumExp(Value x, int64_t axis);
  Value logSoftmax(Value x, int64_t axis);
  Value reshape(Value x, llvm::ArrayRef<int64_t> shape);
  Value expand(Value x, llvm::ArrayRef<int64_t> shape);
  Value concat(mlir::ValueRange parts, int64_t axis);
  /// Places first, first + step, ... before last along dim.
  Value slice(Value x, int64_t dim, int64_t first, int64_t last, int64_t step = 1);
  /// Elements of x with their index along the axis replaced.
  Value take(Value x, Value indices, int64_t axis);
  /// x y transposed, of matrices.
  Value products(Value x, Value y);
  /// All places of this number, in f32.
  Value filled(llvm::ArrayRef<int64_t> shape, double value);
  Value vector(llvm::ArrayRef<float> numbers);
  Value integers(llvm::ArrayRef<int64_t> numbers);
  Value number(Value like, double value);
  /// x, through which no gradient passes.
  Value held(Value x);
  /// Cross-entropy of each item; those of the label `ignored` have 0.
  Value crossEntropy(Value logits, Value labels, int64_t axis, int64_t ignored, double smoothing = 0);
};

} // namespace kedge::autodiff
