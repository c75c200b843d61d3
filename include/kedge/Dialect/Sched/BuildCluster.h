// Turns an op that describes itself as a loop nest (ClusterableOpInterface) into a sched.cluster,
// and any other op into a sched.library. Used by the scheduler and by the reference interpreter.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "llvm/ADT/BitVector.h"

namespace kedge {

/// Whether `op` is a loop nest.
bool isClusterable(mlir::Operation *op);
/// The cluster of a clusterable op, with the results that `used` selects, in order. 16-bit floats
/// are widened on entry and rounded on exit. Inputs that the body does not read are dropped.
sched::ClusterOp buildCluster(mlir::OpBuilder &builder, mlir::Operation *op, const llvm::BitVector &used);
/// A call of the runtime kernel with the op's name. The op's attributes
/// become `attrs`; `operands` records which optional operands are present.
sched::LibraryOp buildLibraryCall(mlir::OpBuilder &builder, mlir::Operation *op);

} // namespace kedge
