// --keep-best and --stop-after: which evaluation was the best, and how many have followed it.
#pragma once
#include "runtime/program/Options.h"
#include "runtime/train/Metrics.h"

namespace kedge::rt {

/// Stored in the checkpoints of a run.
struct BestSoFar {
  std::string metric; ///< empty before the first evaluation
  double value = 0;
  int64_t step = 0;  ///< number of completed steps at that evaluation
  int64_t since = 0; ///< number of evaluations since then
};

/// The metric as options and messages name it: "loss", or the name of a MetricKind.
struct BestMetric {
  std::string name;
  std::optional<MetricKind> kind; ///< not set: the loss
};

/// The metric that --keep-best names, or the loss without it. Throws for an unknown name.
BestMetric bestMetric(const Options &options);

/// Records an evaluation. Returns whether it is the best so far; NaN never is.
bool takeEvaluation(BestSoFar &best, const BestMetric &metric, double loss,
                    const std::vector<MetricValue> &metrics, int64_t step);

} // namespace kedge::rt
