#include "lib/Solver/Shard/ShardProblem.h"
#include <algorithm>
#include <limits>
#include <map>

namespace kedge::solver {

int64_t shardCost(const ShardProblem &problem, const std::vector<int> &strategies) {
  int64_t total = 0;
  bool forbidden = false;
  const auto add = [&](int64_t cost) {
    forbidden |= cost >= kForbiddenCost;
    total += forbidden ? 0 : cost;
  };
  for (size_t node = 0; node < problem.nodes.size(); ++node)
    add(problem.nodes[node].costs[static_cast<size_t>(strategies[node])]);
  for (const ShardEdge &edge : problem.edges) {
    const size_t columns = problem.nodes[static_cast<size_t>(edge.to)].costs.size();
    add(edge.costs[static_cast<size_t>(strategies[static_cast<size_t>(edge.from)]) * columns +
                   static_cast<size_t>(strategies[static_cast<size_t>(edge.to)])]);
  }
  return forbidden ? kForbiddenCost : total;
}

int64_t shardPeak(const ShardProblem &problem, const std::vector<int> &strategies) {
  std::map<int64_t, int64_t> changes;
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    const ShardNode &each = problem.nodes[node];
    if (each.begin >= each.end)
      continue;
    changes[each.begin] += each.usages[static_cast<size_t>(strategies[node])];
    changes[each.end] -= each.usages[static_cast<size_t>(strategies[node])];
  }
  int64_t used = 0, peak = 0;
  for (const auto &[time, change] : changes)
    peak = std::max(peak, used += change);
  return peak;
}

double ShardSolution::gap() const {
  if (cost == lowerBound)
    return 0;
  return lowerBound > 0 ? static_cast<double>(cost) / static_cast<double>(lowerBound) - 1
                        : std::numeric_limits<double>::infinity();
}

} // namespace kedge::solver
