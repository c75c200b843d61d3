// Clusters that one walk over their points is enough for.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"

namespace kedge::sched {

/// Whether no reduction of the cluster waits for another one, and no output with an element a point for a
/// reduction: a kernel that stores points while it reduces computes every scalar once.
bool reducesOnce(ClusterOp cluster);

/// Whether the points of a result may lie on what they are computed from, even in a kernel that stores each
/// point in the first walk that can compute it: nothing is reduced or stored later that reads the elements of
/// `root` again.
bool storesAfterAllReads(ClusterOp cluster, mlir::OpResult result, mlir::Value root);

/// Whether an output of this map has elements along a dim that the cluster reduces.
bool isAlongReductions(ClusterOp cluster, mlir::AffineMap output);

} // namespace kedge::sched
