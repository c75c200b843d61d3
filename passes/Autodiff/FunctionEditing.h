// Functions whose arguments and results carry attributes that say what they are for.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::autodiff {

/// The argument with string attribute `key` = `name`, made (with `type`) when there is none.
mlir::Value argumentFor(mlir::func::FuncOp function, llvm::StringRef key, llvm::StringRef name, mlir::Type type);
/// The argument with string attribute `key` = `name`; null when there is none.
mlir::BlockArgument findArgument(mlir::func::FuncOp function, llvm::StringRef key, llvm::StringRef name);
/// The argument that is the state @name; made (with `type`) when there is none.
mlir::Value stateArgument(mlir::func::FuncOp function, llvm::StringRef name, mlir::Type type);
/// Appends a result with an attribute.
void addResult(mlir::func::FuncOp function, mlir::Value value, llvm::StringRef key, mlir::Attribute attribute);
/// The returned value whose result has string attribute `key` = `name`; null when there is none.
mlir::Value findResult(mlir::func::FuncOp function, llvm::StringRef key, llvm::StringRef name);
/// Erases the results for which `unwanted` says so.
void eraseResults(mlir::func::FuncOp function, llvm::function_ref<bool(unsigned)> unwanted);
/// Erases pure ops and then arguments that nobody uses.
void eraseUnused(mlir::func::FuncOp function);
mlir::Operation *returnOf(mlir::func::FuncOp function);

} // namespace kedge::autodiff
