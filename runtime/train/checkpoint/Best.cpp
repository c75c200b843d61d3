#include "runtime/train/checkpoint/Best.h"
#include <algorithm>
#include <cmath>

namespace kedge::rt {

BestMetric bestMetric(const Options &options) {
  if (options.keepBest.empty() || options.keepBest == "loss")
    return {"loss", std::nullopt};
  return {options.keepBest, metricNamed("--keep-best", options.keepBest)};
}

bool takeEvaluation(BestSoFar &best, const BestMetric &metric, double loss,
                    const std::vector<MetricValue> &metrics, int64_t step) {
  double value = loss;
  if (metric.kind)
    value = std::find_if(metrics.begin(), metrics.end(), [&](const MetricValue &m) {
              return m.kind == *metric.kind;
            })->value;
  const bool grows = metric.kind && growsBetter(*metric.kind), first = best.metric != metric.name;
  if (first)
    best = {metric.name, grows ? -INFINITY : INFINITY, step, 0};
  const bool better = grows ? value > best.value : value < best.value;
  if (better)
    best = {metric.name, value, step, 0};
  else
    ++best.since;
  return better;
}

} // namespace kedge::rt
