// What a function does in a run: reading and writing `train.kind`.
#pragma once
#include "kedge/Dialect/Train/TrainAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::train {

/// Empty for functions that are no part of a run.
std::optional<FunctionKind> kindOf(mlir::FunctionOpInterface function);
/// Gives a function its kind and its kind's name.
void setKind(mlir::func::FuncOp function, FunctionKind kind);
/// Null when the module has none.
mlir::func::FuncOp functionOf(mlir::ModuleOp module, FunctionKind kind);

/// Whether it is in evaluation mode.
inline bool evaluates(FunctionKind kind) { return kind == FunctionKind::Eval || kind == FunctionKind::Predict; }
/// How often it runs in a step of `accumulate` micro-batches.
int64_t runsInStep(FunctionKind kind, int64_t accumulate);

} // namespace kedge::train
