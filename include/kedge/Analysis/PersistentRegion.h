// The bytes that a program holds for its whole life.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace kedge::analysis {

/// Bytes of the persistent region that kedge-plan-memory makes from this level-3 module: states, scalars, results and
/// distinct constants, each rounded up to the arena's alignment.
int64_t persistentBytes(mlir::ModuleOp module);

} // namespace kedge::analysis
