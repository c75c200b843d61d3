// Runs single ops in the reference interpreter: values against formulas, gradients against differences.
#pragma once
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "lib/Interpret/ConstantEvaluator.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <gtest/gtest.h>

namespace kedge::test {

struct Input {
  std::vector<int64_t> shape;
  std::vector<double> values;
  mlir::Type element; // null: f64
};

/// The values of a vector, in f64 and one dim.
Input vectorOf(std::vector<double> values);

class OpHarness {
public:
  OpHarness();
  using Build = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

  mlir::MLIRContext context;
  mlir::OpBuilder builder;

  mlir::Type type(llvm::StringRef name); // "f32", "i64", "ui8", ...
  mlir::FloatAttr f32(double value) { return builder.getF32FloatAttr(value); }
  mlir::IntegerAttr i64(int64_t value) { return builder.getI64IntegerAttr(value); }

  /// Elements of the op's result.
  std::vector<double> run(const Build &build, const std::vector<Input> &inputs);
  /// Compares the gradient of sum(w * result), w different everywhere, with central differences.
  /// Interpreted first, then as compiled kernels. Operands listed in `constant` are not moved.
  void checkGradient(const Build &build, const std::vector<Input> &inputs,
                     const std::vector<size_t> &constant = {});
  /// The gradients of the operands for a gradient of ones; a missing gradient is empty.
  std::vector<std::vector<double>> gradients(const Build &build, const std::vector<Input> &inputs);

private:
  struct Graph;
  void checkCompiledGradient(mlir::Block &block, mlir::Value result, mlir::ArrayRef<mlir::Value> grads,
                             const Input &weights, const std::vector<Input> &inputs,
                             const std::vector<size_t> &operands);
  double objective(const Build &build, const std::vector<Input> &inputs);
};

} // namespace kedge::test
