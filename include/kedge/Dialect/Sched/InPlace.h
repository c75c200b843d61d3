// Which ops are launches, and when a kernel may write a result over one of its inputs.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "kedge/Support/StorageBytes.h"

namespace kedge::sched {

/// The value that owns the bytes of `v`: follows views to their source.
mlir::Value rootOf(mlir::Value v);

/// Whether the op that defines `result` reads each element of `root` only where it then writes the same
/// element of `result`, or not at all. The only library kernels that do so are products on GPUs that add a C.
bool mayOverwrite(mlir::OpResult result, mlir::Value root);

/// Whether `result` has one element for each row that its cluster reduces, and the cluster reads `root`, if
/// at all, at the rows of its elements: kernels read such an element before, and write it when they have
/// stored the row.
bool mayOverwriteRows(mlir::OpResult result, mlir::Value root);

/// Whether `op` is a step of the schedule: a cluster, a library call, or a copy from or to host memory.
bool isLaunch(mlir::Operation &op);

using kedge::bytesOf;

} // namespace kedge::sched
