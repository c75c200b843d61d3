// The bytes that a program holds for its whole life.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace kedge::analysis {

/// Bytes of the persistent region that kedge-plan-memory makes from this level-3 module: states, scalars, results and
/// distinct constants, each rounded up to the arena's alignment. Without what lives in host memory.
int64_t persistentBytes(mlir::ModuleOp module);

/// Bytes of the states that live in host memory, rounded up alike.
int64_t hostStateBytes(mlir::ModuleOp module);

/// States that live in host memory: those whose train.state has the attribute `sched.host`.
llvm::DenseSet<mlir::StringAttr> hostStates(mlir::ModuleOp module);

} // namespace kedge::analysis
