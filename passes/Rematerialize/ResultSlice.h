// One result of a cluster on its own.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "llvm/ADT/SetVector.h"

namespace kedge::remat {

/// What one result of a cluster follows from when the cluster's other results are read instead of computed
/// again.
struct ResultSlice {
  llvm::SetVector<mlir::Operation *> ops; ///< of the body, unordered
  llvm::SmallVector<unsigned> inputs;     ///< operands of the cluster that are read
  llvm::SmallVector<unsigned> results;    ///< other results that are read
  bool reduces = false;                   ///< a kernel of its own might add in another order
};

ResultSlice sliceOf(sched::ClusterOp cluster, unsigned result);

/// A cluster for `result` alone. `inputs` stand for all operands of `cluster`, `results` for its results
/// (those that the slice does not read may be null). Needs a slice that does not reduce, so that it computes
/// the same bits.
sched::ClusterOp cloneResult(mlir::OpBuilder &builder, sched::ClusterOp cluster, unsigned result,
                             mlir::ValueRange inputs, llvm::ArrayRef<mlir::Value> results);

} // namespace kedge::remat
