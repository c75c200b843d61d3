// The target that a module is compiled for.
#pragma once
#include "kedge/Support/Target.h"
#include "mlir/IR/BuiltinOps.h"

namespace kedge {

/// The processor unless kedge-note-workspaces noted another target on the module; also for ops without a
/// module.
TargetKind targetOf(mlir::ModuleOp module);

} // namespace kedge
