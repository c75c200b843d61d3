// The loop nest that every norm and its gradient share.
#pragma once
#include "kedge/Interfaces/ClusterBody.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace kedge {

/// The iteration domain of a norm, the dims that its statistics reduce, and the indexing
/// maps of X (`data`), of scale and bias (`scale`) and of the statistics (`stat`).
struct NormLayout {
  llvm::SmallVector<int64_t> domain;
  llvm::SmallVector<int64_t> reduced;
  mlir::AffineMap data, scale, stat;

  /// Number of elements that one statistic is computed over.
  int64_t count() const;
  /// Sets domain and reduced dims. The caller sets the maps, in the order of its operands.
  void describe(ClusterSpec &spec) const;
  /// Reduces all dims that `scale` does not use; the gradients of scale and bias are sums over these.
  void describeParamGrad(ClusterSpec &spec) const;
};

/// X [..., normalised dims from axis on]; scale broadcasts against X; statistics have X's rank with ones.
NormLayout rowLayout(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape, int64_t axis,
                     llvm::ArrayRef<int64_t> scaleShape);
/// X [N, C, ...]: one statistic for each channel, [C] (batch norm).
NormLayout channelLayout(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape);
/// X [N, C, ...]: statistics [N, groups]. scale has `scaleSize` elements, one for each channel or for each
/// group.
NormLayout groupLayout(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape, int64_t groups,
                       int64_t scaleSize);
/// X [N, C, ...]: statistics [N, C].
NormLayout instanceLayout(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape);

/// Type of statistics: f64 for f64, else f32.
mlir::Type statType(mlir::Type element);

/// The values that a norm computes at one point.
struct Normalized {
  mlir::Value mean, variance, invstd, value;
};
/// Mean; then variance, as the mean square of x - mean (two passes); 1 / sqrt(variance + epsilon); (x - mean)
/// * invstd.
Normalized normalize(ClusterBodyBuilder &body, mlir::Value x, int64_t count, double epsilon);
/// The same without subtracting the mean: the variance is the mean square.
Normalized normalizeUncentered(ClusterBodyBuilder &body, mlir::Value x, int64_t count, double epsilon);
/// value * scale + bias in value's type; bias may be null.
mlir::Value scaleAndShift(ClusterBodyBuilder &body, mlir::Value value, mlir::Value scale, mlir::Value bias);
/// Casts a body's float to the scalar type of `result`.
mlir::Value toResult(ClusterBodyBuilder &body, mlir::Value value, mlir::Value result);

/// Builds train.norm_grad and train.norm_param_grad: the gradients of X, of scale
/// and, unless it is null, of bias. `mean` is null for root-mean-square norms.
void buildNormGradient(mlir::OpBuilder &builder, mlir::Location loc, const NormLayout &layout, mlir::Value dY,
                       mlir::Value x, mlir::Value scale, mlir::Value bias, mlir::Value mean,
                       mlir::Value invstd, llvm::SmallVectorImpl<mlir::Value> &grads);
/// Only train.norm_param_grad: gradients of scale and (unless null) bias.
void buildNormParamGradient(mlir::OpBuilder &builder, mlir::Location loc, const NormLayout &layout,
                            mlir::Value dY, mlir::Value x, mlir::Value scale, mlir::Value bias,
                            mlir::Value mean, mlir::Value invstd, llvm::SmallVectorImpl<mlir::Value> &grads);

} // namespace kedge
