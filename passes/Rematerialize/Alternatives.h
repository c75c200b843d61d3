// A plan with another decision about one value: kept, computed again or moved to host memory.
#pragma once
#include "passes/Rematerialize/Graph.h"
#include "passes/Rematerialize/OptionWords.h"
#include <optional>

namespace kedge::remat {

/// What `sequence` does with a value: it is fetched, or made several times, or else kept. None for what no
/// launch makes.
std::optional<Decision> decisionIn(const RecomputeGraph &graph, const std::vector<int> &sequence, int value);

/// The sequence with only this decision changed: all other launches keep their order.
struct Alternative {
  std::vector<int> sequence; ///< empty: impossible
  std::string obstacle;      ///< why it is impossible
};
/// Offload needs the value in the function's `sched.offloadable`.
Alternative withDecision(const RecomputeGraph &graph, const std::vector<int> &sequence, int value,
                         Decision decision);

/// Seconds of a sequence.
double secondsOf(const RecomputeGraph &graph, const std::vector<int> &sequence);

} // namespace kedge::remat
