// The loop nest that every norm and its gradient share.
#pragma once
#include "kedge/Interfaces/ClusterBody.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace kedge {

/// Domain of a norm, the dims its statistics fold, and where X (`data`), scale and bias (`scale`) and the
/// statistics (`stat`) lie in it.
struct NormLayout {
  llvm::SmallVector<int64_t> domain;
  llvm::SmallVector<int64_t> reduced;
  mlir::AffineMap data, scale, stat;

  /// Elements that one statistic covers.
  int64_t count() const;
  /// Sets domain and reduced dims; the maps are the caller's to order.
  void describe(ClusterSpec &spec) const;
  /// Reduces all dims that `scale` does not name: what the gradients of scale and bias sum over.
  void describeParamGrad(ClusterSpec &spec) const;
};

/// X [..., normalised dims from axis on]; scale broadcasts against X; statistics have X's rank with ones.
NormLayout rowLayout(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape, int64_t axis,
                     llvm::ArrayRef<int64_t> scaleShape);
/// X [N, C, ...]: statistics [C] over all else (batch norm).
NormLayout channelLayout(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape);
/// X [N, C, ...]: statistics [N, groups]; scale has `scaleSize` elements, one a channel or one a group.
NormLayout groupLayout(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape, int64_t groups,
                       int64_t scaleSize);
/// X [N, C, ...]: statistics [N, C].
NormLayout instanceLayout(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape);

/// Type of statistics: f64 for f64, else f32.
mlir::Type statType(mlir::Type element);

/// What a norm computes at one point.
struct Normalized {
  mlir::Value mean, variance, invstd, value;
};
/// Mean, then variance of the differences (two passes), 1 / sqrt(variance + epsilon), (x - mean) * invstd.
Normalized normalize(ClusterBodyBuilder &body, mlir::Value x, int64_t count, double epsilon);
/// The same around 0: variance is the mean square.
Normalized normalizeUncentered(ClusterBodyBuilder &body, mlir::Value x, int64_t count, double epsilon);
/// value * scale + bias in value's type; bias may be null.
mlir::Value scaleAndShift(ClusterBodyBuilder &body, mlir::Value value, mlir::Value scale, mlir::Value bias);
/// Casts a body's float to the scalar type of `result`.
mlir::Value toResult(ClusterBodyBuilder &body, mlir::Value value, mlir::Value result);

/// Builds train.norm_grad and train.norm_param_grad: gradients of X, scale and (unless null) bias. `mean`
/// is null for root-mean-square norms.
void buildNormGradient(mlir::OpBuilder &builder, mlir::Location loc, const NormLayout &layout, mlir::Value dY,
                       mlir::Value x, mlir::Value scale, mlir::Value bias, mlir::Value mean,
                       mlir::Value invstd, llvm::SmallVectorImpl<mlir::Value> &grads);
/// Only train.norm_param_grad: gradients of scale and (unless null) bias.
void buildNormParamGradient(mlir::OpBuilder &builder, mlir::Location loc, const NormLayout &layout,
                            mlir::Value dY, mlir::Value x, mlir::Value scale, mlir::Value bias,
                            mlir::Value mean, mlir::Value invstd, llvm::SmallVectorImpl<mlir::Value> &grads);

} // namespace kedge
