// Update rules written in ops of the model's kind.
#pragma once
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "passes/Autodiff/GradientReductions.h"
#include "passes/Autodiff/ParameterUpdate.h"

namespace kedge::autodiff {

/// Arithmetic on values of the update.
struct UpdateMath : GradientBuilder {
  explicit UpdateMath(ParameterUpdate &u) : GradientBuilder{u.builder, u.loc} {}

  mlir::Value number(mlir::Value like, double value) { return scalarLike(builder, loc, like, value); }
  mlir::Value smaller(mlir::Value a, mlir::Value b) { return onnx::MinOp::create(builder, loc, a, b); }
  mlir::Value larger(mlir::Value a, mlir::Value b) { return onnx::MaxOp::create(builder, loc, a, b); }
  mlir::Value atLeast(mlir::Value x, double least) { return larger(x, number(x, least)); }
  mlir::Value root(mlir::Value x) { return onnx::SqrtOp::create(builder, loc, x); }
  mlir::Value power(mlir::Value x, double exponent) {
    return onnx::PowOp::create(builder, loc, x, number(x, exponent));
  }
  mlir::Value isAbove(mlir::Value a, mlir::Value b) { return onnx::GreaterOp::create(builder, loc, a, b); }
  mlir::Value choose(mlir::Value which, mlir::Value yes, mlir::Value no) {
    return onnx::WhereOp::create(builder, loc, which, yes, no);
  }
  /// a + t (b - a)
  mlir::Value lerp(mlir::Value a, mlir::Value b, mlir::Value t) { return add(a, mul(t, sub(b, a))); }
  mlir::Value product(mlir::Value a, mlir::Value b, bool transA, bool transB) {
    return onnx::MatMulOp::create(builder, loc, a, b, transA, transB);
  }
  mlir::Value meanOver(mlir::Value x, int64_t axis) {
    return onnx::ReduceMeanOp::create(builder, loc, x, llvm::ArrayRef<int64_t>{axis}, true);
  }
  mlir::Value rootMeanSquare(mlir::Value x) {
    return root(scale(sumOfSquares(builder, x), 1.0 / static_cast<double>(elementCount(shapeOf(x)))));
  }
};

/// A formula in the parameter's type, whatever the gradient's is and the host's numbers are.
struct ParameterFormula : UpdateMath {
  explicit ParameterFormula(ParameterUpdate &u) : UpdateMath(u), u(u), type(elementOf(u.param)) {}

  mlir::Value inType(mlir::Value x) { return elementOf(x) == type ? x : cast(x, type); }
  mlir::Value host(llvm::StringRef name) { return inType(u.scalar(name)); }
  mlir::Value rate(mlir::Value x) { return scale(inType(x), u.lrScale()); }
  /// Times what clipping and items make of it.
  mlir::Value gradient() { return mul(inType(u.gradient), inType(u.scale)); }
  /// b2 v + (1 - b2) g^2
  mlir::Value secondMoment(mlir::Value before, mlir::Value g, mlir::Value beta2, mlir::Value rest) {
    return add(mul(beta2, before), mul(mul(rest, g), g));
  }

  ParameterUpdate &u;
  mlir::Type type;
};

} // namespace kedge::autodiff
