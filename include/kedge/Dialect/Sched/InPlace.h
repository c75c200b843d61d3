// When a kernel may write a result over one of its inputs.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"

namespace kedge::sched {

/// The value whose bytes `v` has: what views lead to.
mlir::Value rootOf(mlir::Value v);

/// Whether the op defining `result` reads `root`'s bytes only at the very element that it then writes to `result`
/// (or not at all). Library kernels that read it never qualify.
bool mayOverwrite(mlir::OpResult result, mlir::Value root);

/// Bytes of a ranked tensor type (bool: one byte an element).
int64_t bytesOf(mlir::Type type);

} // namespace kedge::sched
