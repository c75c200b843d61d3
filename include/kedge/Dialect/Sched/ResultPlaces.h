// Places of the results of a cluster. A fused cluster may compute results for several modules of the model.
#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/SchedOps.h"

namespace kedge::sched {

/// The place of the op that computes the result in the body; null if the body only passes on an input.
PlaceAttr computedAt(ClusterOp cluster, unsigned result);
/// Where a result was computed. For a cluster: the place of the op in its body if
/// its module is known, else the place of the cluster. Null if nothing is known.
PlaceAttr placeOfResult(mlir::OpResult result);
/// One place for each result; null stands for the cluster's own. Stored only if some result has a place of
/// its own.
void setResultPlaces(ClusterOp cluster, llvm::ArrayRef<PlaceAttr> places);

} // namespace kedge::sched
