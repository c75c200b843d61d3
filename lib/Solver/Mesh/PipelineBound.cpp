#include "lib/Solver/Mesh/PipelineBound.h"
#include <algorithm>
#include <cmath>
#include <vector>

// Stage k takes w_k for a micro-batch, and all stages 1. Nothing of stage k begins before the stages before
// it have had the first micro-batch, nor is the end reached before they have had the last one back. So the
// stages of a rank from its chunk c on, the first of them k, take
//
//     share (w_0 + ... + w_(k-1)) + M (w_k + w_(k+ranks) + ...) <= span.
//
// Any weights y_k >= 0 of these inequalities prove that the span is at least the least factor of any w_k in
// their sum, divided by the sum of the weights. The best weights make these factors equal.

namespace kedge::solver {
namespace {

using Weights = std::vector<double>;

/// Of w_k in the weighted sum.
Weights factorsOf(const Weights &weights, const PipelineShape &shape, double share) {
  const auto stages = static_cast<int64_t>(weights.size());
  Weights factors(weights.size());
  double behind = 0; // the weights of later stages
  for (int64_t k = stages; k-- > 0; behind += weights[static_cast<size_t>(k)]) {
    double own = 0;
    for (int64_t chunk = k; chunk >= 0; chunk -= shape.ranks)
      own += weights[static_cast<size_t>(chunk)];
    factors[static_cast<size_t>(k)] = static_cast<double>(shape.microBatches) * own + share * behind;
  }
  return factors;
}

/// For which all factors are 1: by elimination, from the matrix that factorsOf multiplies with.
Weights balancedWeights(const PipelineShape &shape, double share) {
  const auto count = static_cast<size_t>(shape.ranks * shape.chunks);
  std::vector<Weights> rows(count, Weights(count + 1, 1));
  for (size_t of = 0; of < count; ++of) {
    Weights unit(count, 0);
    unit[of] = 1;
    const Weights column = factorsOf(unit, shape, share);
    for (size_t k = 0; k < count; ++k)
      rows[k][of] = column[k];
  }
  for (size_t at = count; at-- > 0;) { // the diagonal is M at least
    for (size_t other = 0; other < count; ++other) {
      const double times = rows[other][at] / rows[at][at];
      if (other != at && times != 0)
        for (size_t of = 0; of <= count; ++of)
          rows[other][of] -= times * rows[at][of];
    }
  }
  Weights weights(count);
  for (size_t k = 0; k < count; ++k)
    weights[k] = std::max(0.0, rows[k][count] / rows[k][k]);
  return weights;
}

} // namespace

double leastSpan(const PipelineShape &shape, double share) {
  const auto micros = static_cast<double>(shape.microBatches);
  const double busy = micros / static_cast<double>(shape.ranks);
  if (share <= 0)
    return busy;
  if (shape.chunks == 1) // the weights are powers
    return std::max(busy, share / (1 - std::pow(1 - share / micros, static_cast<double>(shape.ranks))));
  const Weights weights = balancedWeights(shape, share);
  const Weights factors = factorsOf(weights, shape, share);
  double sum = 0;
  for (const double weight : weights)
    sum += weight;
  return sum > 0 ? std::max(busy, *std::min_element(factors.begin(), factors.end()) / sum) : busy;
}

} // namespace kedge::solver
