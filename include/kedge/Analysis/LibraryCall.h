// sched.library as the runtime is asked for it.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/calls/LibraryKernel.h"

namespace kedge::analysis {

/// A ranked tensor type as the runtime sees it.
rt::TensorDesc tensorDescOf(mlir::Type type);

rt::LibraryCall libraryCallOf(sched::LibraryOp op);

/// Scratch bytes of a launch, at `threads` threads of the host where that is the target. Targets whose code
/// is generated first have noted it on the op as `sched.workspace`. Fails after a diagnostic when a call has
/// no kernel.
mlir::FailureOr<int64_t> workspaceOf(mlir::Operation *launch, int threads);

/// "cpu" or "cuda": the module's attribute `kedge.target`.
llvm::StringRef targetOf(mlir::ModuleOp module);

/// What buffers of the target's arena lie at multiples of, bytes.
int64_t arenaAlignment(mlir::ModuleOp module);
/// What a buffer of `bytes` takes there: the arena of the module around `op`.
int64_t arenaBytes(mlir::Operation *op, int64_t bytes);

} // namespace kedge::analysis
