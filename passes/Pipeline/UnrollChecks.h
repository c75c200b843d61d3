// What a function must be like for the micro-batches of a step to be written into one function.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::pipeline {

/// Inputs have the rows of a micro-batch. `where`, as in "in a pipeline", is for the message.
llvm::LogicalResult checkRows(mlir::func::FuncOp function, llvm::StringRef where);

/// Results are those that the host knows.
llvm::LogicalResult checkResults(mlir::func::FuncOp function, llvm::StringRef where);

} // namespace kedge::pipeline
