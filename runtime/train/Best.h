// --keep-best and --stop-after: which evaluation was the best one, and how long ago.
#pragma once
#include "runtime/program/Options.h"
#include "runtime/train/Metrics.h"

namespace kedge::rt {

/// Travels with a run's checkpoints.
struct BestSoFar {
  std::string metric; ///< empty before the first evaluation
  double value = 0;
  int64_t step = 0;  ///< completed steps
  int64_t since = 0; ///< evaluations since then
};

/// The metric's name in options and texts: "loss", or a MetricKind's.
struct BestMetric {
  std::string name;
  std::optional<MetricKind> kind; ///< nothing: the loss
};

/// What --keep-best names, the loss without it; throws for an unknown name.
BestMetric bestMetric(const Options &options);

/// Takes an evaluation in; whether it is the best so far. What is not a number never is.
bool takeEvaluation(BestSoFar &best, const BestMetric &metric, double loss, const std::vector<MetricValue> &metrics,
                    int64_t step);

} // namespace kedge::rt
