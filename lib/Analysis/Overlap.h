// How much of a step's communication is hidden behind its computation.
#pragma once
#include "lib/Analysis/StepCost.h"

namespace kedge::analysis {

struct StepOverlap {
  double seconds = 0; ///< time of all collectives, one after the other
  double hidden = 0;  ///< the part of it during which other launches run
};

/// Simulates the streams of a level-4 module. A launch takes its predicted seconds. It starts after the
/// launches before it in its stream and after those whose events it waits for; the side stream is part of the
/// first here, so that what is hidden behind communication is not counted twice. `launches`: the result of
/// launchesAsRun.
StepOverlap overlapOf(mlir::ModuleOp module, const std::vector<ScheduledLaunch> &launches,
                      int64_t accumulate);

} // namespace kedge::analysis
