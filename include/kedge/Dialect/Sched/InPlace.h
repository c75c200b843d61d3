// What runs, and when a kernel may write a result over one of its inputs.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "kedge/Support/StorageBytes.h"

namespace kedge::sched {

/// The value whose bytes `v` has: what views lead to.
mlir::Value rootOf(mlir::Value v);

/// Whether the op defining `result` reads `root`'s bytes only at the very element that it then writes to `result`
/// (or not at all). Of library kernels only products on GPUs do that, of a C that they add.
bool mayOverwrite(mlir::OpResult result, mlir::Value root);

/// Whether `op` is a step of the schedule: a cluster, a library call or a copy from or to host memory.
bool isLaunch(mlir::Operation &op);

using kedge::bytesOf;

} // namespace kedge::sched
