#pragma once
#include "lib/Analysis/LaunchCost.h"
#include "lib/Dialect/Sched/SchedOps.h"

namespace kedge::analysis {

LaunchCost costOfCluster(sched::ClusterOp cluster);

} // namespace kedge::analysis
