// The tables behind train.pointwise_grad.
#pragma once
#include "kedge/Dialect/Train/TrainEnums.h"
#include "kedge/Interfaces/ClusterBody.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <map>

namespace kedge::train {

/// Scalars of the inputs: the gradient, then what the function saved.
struct PointwiseScalars {
  ClusterBodyBuilder &body;
  mlir::ValueRange inputs;
  mlir::DictionaryAttr attributes;

  mlir::Value grad() const { return inputs[0]; }
  mlir::Value saved(unsigned k = 0) const { return inputs[k + 1]; }
  mlir::Value number(double value) const { return body.constant(inputs[0].getType(), value); }
  /// The gradient times the slope.
  mlir::Value times(mlir::Value slope) const { return body.mul(grad(), slope); }
  /// Attribute of the forward op.
  double parameter(llvm::StringRef name) const {
    return mlir::cast<mlir::FloatAttr>(attributes.get(name)).getValueAsDouble();
  }
  mlir::Value numberOf(llvm::StringRef name) const { return number(parameter(name)); }
  using Compare = ClusterBodyBuilder::Compare;
  mlir::Value is(Compare kind, mlir::Value a, double b) const { return body.compare(kind, a, number(b)); }
  /// The gradient where `condition` holds, else zero.
  mlir::Value gradIf(mlir::Value condition) const { return body.select(condition, grad(), number(0)); }
};

struct PointwiseGradient {
  mlir::Value (*build)(const PointwiseScalars &);
  unsigned inputs; // with the gradient
};

using PointwiseGradients = std::map<PointwiseFunction, PointwiseGradient>;
void addFunctionGradients(PointwiseGradients &table);
void addActivationGradients(PointwiseGradients &table);

} // namespace kedge::train
