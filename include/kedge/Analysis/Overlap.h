// What of a step's communication passes beside its computing.
#pragma once
#include "kedge/Analysis/StepCost.h"

namespace kedge::analysis {

struct StepOverlap {
  double seconds = 0; ///< that collectives take, one after the other
  double hidden = 0;  ///< of these: beside other launches
};

/// Runs the streams of a level-4 module in thought: each launch takes its predicted seconds, after those before it in its
/// stream and those whose events it waits for. `launches`: as launchesAsRun gives them.
StepOverlap overlapOf(mlir::ModuleOp module, const std::vector<ScheduledLaunch> &launches, int64_t accumulate);

} // namespace kedge::analysis
