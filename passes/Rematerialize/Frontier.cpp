#include "passes/Rematerialize/Frontier.h"
#include "lib/Support/SideBySide.h"
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>

namespace kedge::remat {
namespace {

/// The cheapest plan within the bytes; null when none is.
const FrontierPlan *cheapest(const FunctionFrontier &function, int64_t bytes) {
  const FrontierPlan *best = nullptr;
  for (const FrontierPlan &plan : function.plans)
    if (plan.bytes <= bytes && (!best || plan.added < best->added))
      best = &plan;
  return best;
}

/// Budgets at which some function's choice changes, largest first, of those that every function can keep.
std::vector<FrontierPoint> corners(const std::vector<FunctionFrontier> &functions) {
  std::set<int64_t, std::greater<>> budgets;
  for (const FunctionFrontier &function : functions)
    for (const FrontierPlan &plan : function.plans)
      budgets.insert(plan.bytes);
  std::vector<FrontierPoint> points;
  for (int64_t budget : budgets) {
    FrontierPoint point;
    bool fits = true;
    for (const FunctionFrontier &function : functions) {
      const FrontierPlan *plan = cheapest(function, budget);
      fits = fits && plan;
      point.bytes = std::max(point.bytes, plan ? plan->bytes : budget);
      point.added += plan ? plan->added : 0;
    }
    if (!fits)
      break;
    // As cheap and smaller: the larger one is no choice.
    if (!points.empty() && points.back().added >= point.added)
      points.pop_back();
    points.push_back(point);
  }
  return points;
}

} // namespace

std::vector<FrontierPoint> frontierOf(const std::vector<FunctionFrontier> &functions, size_t count) {
  const std::vector<FrontierPoint> all = corners(functions);
  std::vector<FrontierPoint> points;
  if (all.empty())
    return points;
  std::set<size_t> taken;
  const int64_t most = all.front().bytes, least = all.back().bytes;
  for (size_t k = 0; k < count; ++k) {
    const int64_t wanted = most - (most - least) / static_cast<int64_t>(std::max<size_t>(count - 1, 1)) *
                                      static_cast<int64_t>(k);
    const auto nearest =
        std::min_element(all.begin(), all.end(), [&](const FrontierPoint &a, const FrontierPoint &b) {
          return std::abs(a.bytes - wanted) < std::abs(b.bytes - wanted);
        });
    taken.insert(static_cast<size_t>(nearest - all.begin()));
  }
  taken.insert(all.size() - 1);
  for (size_t index : taken)
    points.push_back(all[index]);
  sideBySide(points.size(), [&](size_t i) {
    for (const FunctionFrontier &function : functions)
      points[i].bound += function.bound ? function.bound(points[i].bytes) : 0;
    points[i].bound = std::min(points[i].bound, points[i].added);
  });
  return points;
}

} // namespace kedge::remat
