// What a GPU's stream of least priority saves of a step.
#pragma once
#include "lib/Analysis/StepCost.h"

namespace kedge::analysis {

/// The share of a GPU that a product leaves to kernels beside it: its last wave leaves multiprocessors idle,
/// 192 tiles on 132 of them 27 %, 576 leave 13 %. An estimate; nothing was measured.
inline constexpr double kIdleBesideProducts = 0.2;

struct SideWork {
  double seconds = 0; ///< one after the other, alone
  double hidden = 0;  ///< what a step is shorter than with all of it on the first stream
};

/// Simulates the streams of a level-4 module. A launch of the side stream advances with
/// `kIdleBesideProducts` of its speed while the first stream runs a product, not at all while that runs
/// another kernel, and at full speed while it waits. `launches`: the result of launchesAsRun.
SideWork sideWorkOf(mlir::ModuleOp module, const std::vector<ScheduledLaunch> &launches, int64_t accumulate);

} // namespace kedge::analysis
