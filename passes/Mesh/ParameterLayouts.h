// How parameters are cut, for what belongs to them: working copies, moments, gradients.
#pragma once
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Mesh/Layout.h"

namespace kedge::mesh {

/// States by name: absent: not decided yet.
using StateLayouts = llvm::DenseMap<mlir::StringAttr, Layout>;

/// The parameters of a function, whose layouts are `states`.
class ParameterLayouts {
public:
  ParameterLayouts(mlir::func::FuncOp function, const StateLayouts &states);

  /// The parameter that a state is of; or itself.
  mlir::StringAttr parameterOf(mlir::StringAttr state) const;
  /// As the parameter is cut of which `value` is the gradient, or a term of it; whole: it is none, or nothing
  /// cuts its parameter.
  Layout ofGradient(mlir::Value value) const;

private:
  mlir::func::FuncOp function;
  const StateLayouts &states;
  llvm::DenseMap<mlir::StringAttr, mlir::StringAttr> parameters; ///< by what belongs to them
  llvm::DenseMap<mlir::StringAttr, mlir::StringAttr> copies;     ///< working ones, by parameter

  Layout layoutOf(mlir::StringAttr parameter) const;
  Layout ofUpdated(mlir::Operation *op, mlir::Type gradient) const;
  Layout ofGradient(mlir::Value value, int depth) const;
};

} // namespace kedge::mesh
