// Describes a sched.library op in the runtime's own terms.
#pragma once
#include "kedge/Dialect/Kedge/Target.h"
#include "kedge/Dialect/Sched/SchedOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/calls/LibraryCall.h"

namespace kedge::analysis {

/// A ranked tensor type as the runtime sees it.
rt::TensorDesc tensorDescOf(mlir::Type type);

rt::calls::LibraryCall libraryCallOf(sched::LibraryOp op);

/// Scratch bytes of a launch; on the CPU with `threads` threads. On targets whose
/// code is generated before planning, they are in the op's attribute
/// `sched.workspace`. Emits a diagnostic and fails if no kernel exists for the call.
mlir::FailureOr<int64_t> workspaceOf(mlir::Operation *launch, int threads);

/// The alignment of buffers in the target's arena, in bytes.
int64_t arenaAlignment(mlir::ModuleOp module);
/// `bytes` rounded up to that alignment. `op` is any op of the module.
int64_t arenaBytes(mlir::Operation *op, int64_t bytes);

} // namespace kedge::analysis
