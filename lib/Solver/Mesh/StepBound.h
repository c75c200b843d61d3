// What no order and no overlap of a step's launches can beat. Without MLIR.
#pragma once
#include <vector>

namespace kedge::solver {

/// A launch of a step's function, in an order that can run.
struct StepTask {
  double seconds = 0;
  bool sends = false;     ///< a collective: it may run at the same time as what computes
  std::vector<int> after; ///< tasks before it that it needs
};

/// Seconds that no schedule is below in which one task computes at a time, one sends at a time, and each
/// begins after those that it needs. Besides the sums of both: a set of collectives cannot begin before all
/// that the first of them needs has been computed, and cannot end before all that needs the last of them is
/// still to come (heads and tails, as for one machine in Carlier, "The one-machine sequencing problem",
/// 1982). Heads and tails are chains: collectives that must follow each other, and what must be computed
/// between them.
double stepLowerBound(const std::vector<StepTask> &tasks);

/// Collectives that follow each other: what they send, and what is computed besides, so that it could hide
/// them. No schedule takes less than all computing, plus `sending`, less `besides`.
struct StepChain {
  double sending = 0, besides = 0;
};

/// The chain of the largest difference.
StepChain longestChain(const std::vector<StepTask> &tasks);

} // namespace kedge::solver
