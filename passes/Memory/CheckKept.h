// What functions leave to each other in the arenas, and what a launch makes of its kernel.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge::memory {

/// Emits an error unless states, scalars and results lie at one place in all functions, apart from each other
/// and within the persistent bytes of their arena, and everything else lies behind these.
mlir::LogicalResult checkKept(mlir::ModuleOp module);

/// Emits an error where a launch runs more or fewer iterations than its kernel, if the module holds that,
/// has.
mlir::LogicalResult checkIterations(mlir::ModuleOp module);

} // namespace kedge::memory
