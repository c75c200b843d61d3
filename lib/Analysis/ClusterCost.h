#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "lib/Analysis/LaunchCost.h"

namespace kedge::analysis {

LaunchCost costOfCluster(sched::ClusterOp cluster);

} // namespace kedge::analysis
