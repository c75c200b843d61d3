// From an op that describes itself (ClusterableOpInterface) to a sched.cluster, and from any other to a
// sched.library. Shared by the scheduler and the reference interpreter.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "llvm/ADT/BitVector.h"

namespace kedge {

/// Whether `op` is a loop nest.
bool isClusterable(mlir::Operation *op);
/// The cluster of a clusterable op, with the results that `used` names (in order); 16-bit floats are widened
/// on entry and rounded on exit. Inputs that the body does not read are dropped.
sched::ClusterOp buildCluster(mlir::OpBuilder &builder, mlir::Operation *op, const llvm::BitVector &used);
/// The call of the runtime kernel of the op's name. Attributes become `attrs`; which optional operands are
/// there becomes `operands`.
sched::LibraryOp buildLibraryCall(mlir::OpBuilder &builder, mlir::Operation *op);

} // namespace kedge
