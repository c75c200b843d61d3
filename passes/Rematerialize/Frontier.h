// Added time against bytes: what every budget would buy, from the plans that one search finds.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace kedge::remat {

/// A plan of one function: packed transient bytes, and the seconds that it adds.
struct FrontierPlan {
  int64_t bytes = 0;
  double added = 0;
};

/// What one function has to choose from. Seconds of functions outside the training step are 0.
struct FunctionFrontier {
  std::vector<FrontierPlan> plans;
  /// Proven: no plan within these bytes adds fewer seconds. Called from several threads.
  std::function<double(int64_t bytes)> bound;
};

/// The smallest added time within `bytes` (of the fullest function), and the proven bound beneath it.
struct FrontierPoint {
  int64_t bytes = 0;
  double added = 0, bound = 0;
};

/// By falling bytes and rising time, at most `count` points: from the plan that adds nothing to the smallest
/// one, those between at even distances in bytes.
std::vector<FrontierPoint> frontierOf(const std::vector<FunctionFrontier> &functions, size_t count);

} // namespace kedge::remat
