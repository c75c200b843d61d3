// The target that a module is compiled for.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace kedge {

/// "cpu" unless kedge-note-workspaces noted another target on the module; also for ops without a module.
llvm::StringRef targetOf(mlir::ModuleOp module);

} // namespace kedge
