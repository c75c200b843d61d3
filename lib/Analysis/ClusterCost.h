#pragma once
#include "kedge/Analysis/LaunchCost.h"
#include "kedge/Dialect/Sched/SchedOps.h"

namespace kedge::analysis {

LaunchCost costOfCluster(sched::ClusterOp cluster);

} // namespace kedge::analysis
