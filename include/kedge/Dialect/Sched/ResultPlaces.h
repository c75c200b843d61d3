// Places of a cluster's results: fused, it computes for several modules.
#pragma once
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/SchedOps.h"

namespace kedge::sched {

/// Where the op belonged that computes the result now; null when the body only hands on an input.
PlaceAttr computedAt(ClusterOp cluster, unsigned result);
/// Where a result was computed: of a cluster, where the op in its body belonged, as far as its module is known, else the
/// cluster. Null when nothing is known.
PlaceAttr placeOfResult(mlir::OpResult result);
/// One a result; null: the cluster's own. Kept only where some differ from that.
void setResultPlaces(ClusterOp cluster, llvm::ArrayRef<PlaceAttr> places);

} // namespace kedge::sched
