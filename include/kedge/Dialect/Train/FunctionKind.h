// The role of a function in a run (`train.kind`): reading and writing it.
#pragma once
#include "kedge/Dialect/Train/TrainAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::train {

constexpr llvm::StringLiteral kKind = "train.kind";

/// Empty for functions that a run does not call.
std::optional<FunctionKind> kindOf(mlir::FunctionOpInterface function);
/// Sets the kind, and the name that functions of this kind have.
void setKind(mlir::func::FuncOp function, FunctionKind kind);
/// Null if the module has no function of this kind.
mlir::func::FuncOp functionOf(mlir::ModuleOp module, FunctionKind kind);

/// Whether functions of this kind run in evaluation mode.
inline bool evaluates(FunctionKind kind) {
  return kind == FunctionKind::Eval || kind == FunctionKind::Predict;
}
/// How often it runs in a step of `accumulate` micro-batches.
int64_t runsInStep(FunctionKind kind, int64_t accumulate);

/// Whether `value` may be the kind of `op`.
mlir::LogicalResult verifyKind(mlir::Operation *op, mlir::Attribute value);

} // namespace kedge::train
