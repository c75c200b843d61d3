// Short names for the ops that gradients are written in. Values carry the location of the forward op.
#pragma once
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/Train/TrainEnums.h"

namespace kedge {

/// Attributes of an op that its gradient reads.
mlir::DictionaryAttr floatsOf(mlir::Operation *op);

struct GradientBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value x);
  /// x times a number, in x's type.
  mlir::Value scale(mlir::Value x, double factor);
  mlir::Value cast(mlir::Value x, mlir::Type element);
  /// Builds train.pointwise_grad. Its operands are the gradient of the result, then the inputs that
  /// `function` reads. `parameters` are the attributes of the forward op that the formula reads.
  mlir::Value pointwise(train::PointwiseFunction function, mlir::ValueRange inputs,
                        mlir::DictionaryAttr parameters = {});
  mlir::Value reduceTo(mlir::Value grad, mlir::Value like);
};

} // namespace kedge
