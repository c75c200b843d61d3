#include "lib/Solver/Shard/ShardReduction.h"
#include <algorithm>
#include <limits>
#include <map>

namespace kedge::solver {
namespace {

int64_t sum(int64_t one, int64_t other) {
  return one >= kForbiddenCost || other >= kForbiddenCost ? kForbiddenCost : one + other;
}

/// Strategies in turn until none goes.
class Reduction {
public:
  explicit Reduction(const ShardProblem &problem) : problem(problem), edgesOf(problem.nodes.size()) {
    for (size_t edge = 0; edge < problem.edges.size(); ++edge) {
      edgesOf[static_cast<size_t>(problem.edges[edge].from)].push_back(edge);
      edgesOf[static_cast<size_t>(problem.edges[edge].to)].push_back(edge);
    }
    for (const ShardNode &node : problem.nodes)
      stays.emplace_back(node.costs.size(), true);
  }

  std::vector<std::vector<char>> run() {
    dropForbidden();
    while (dropLonely() || dropDominated())
      ;
    return std::move(stays);
  }

private:
  /// Of a node's strategy and one of its neighbour.
  int64_t price(size_t node, size_t edge, size_t strategy, size_t neighbours) const {
    const ShardEdge &each = problem.edges[edge];
    const size_t columns = problem.nodes[static_cast<size_t>(each.to)].costs.size();
    return static_cast<size_t>(each.from) == node ? each.costs[strategy * columns + neighbours]
                                                  : each.costs[neighbours * columns + strategy];
  }

  size_t neighbour(size_t node, size_t edge) const {
    const ShardEdge &each = problem.edges[edge];
    return static_cast<size_t>(static_cast<size_t>(each.from) == node ? each.to : each.from);
  }

  void dropForbidden() {
    for (size_t node = 0; node < stays.size(); ++node) {
      const ShardNode &each = problem.nodes[node];
      for (size_t strategy = 0; strategy < each.costs.size(); ++strategy)
        if (each.costs[strategy] >= kForbiddenCost ||
            (each.begin < each.end && each.usages[strategy] > problem.limit))
          stays[node][strategy] = false;
    }
  }

  /// Every strategy of a neighbour is forbidden with it.
  bool isLonely(size_t node, size_t strategy) const {
    for (size_t edge : edgesOf[node]) {
      const std::vector<char> &others = stays[neighbour(node, edge)];
      bool goes = false;
      for (size_t other = 0; other < others.size() && !goes; ++other)
        goes = others[other] && price(node, edge, strategy, other) < kForbiddenCost;
      if (!goes)
        return true;
    }
    return false;
  }

  template <typename Predicate> bool drop(Predicate isNeedless) {
    bool dropped = false;
    for (size_t node = 0; node < stays.size(); ++node)
      for (size_t strategy = 0; strategy < stays[node].size(); ++strategy)
        if (stays[node][strategy] && isNeedless(node, strategy)) {
          stays[node][strategy] = false;
          dropped = true;
        }
    return dropped;
  }
  bool dropLonely() {
    return drop([this](size_t node, size_t strategy) { return isLonely(node, strategy); });
  }
  bool dropDominated() {
    return drop([this](size_t node, size_t strategy) {
      for (size_t other = 0; other < stays[node].size(); ++other)
        if (other != strategy && stays[node][other] && dominates(node, other, strategy))
          return true;
      return false;
    });
  }

  bool dominates(size_t node, size_t better, size_t worse) const {
    const ShardNode &each = problem.nodes[node];
    if (each.begin < each.end && each.usages[better] > each.usages[worse])
      return false;
    int64_t more = each.costs[better] - each.costs[worse];
    for (size_t edge : edgesOf[node]) {
      const int64_t most = mostMore(node, edge, better, worse);
      if (most >= kForbiddenCost)
        return false;
      if (most <= -kForbiddenCost)
        return true;
      more += most;
    }
    return more <= 0;
  }

  /// What `better` costs more on an edge, at most; kForbiddenCost where only `better` is forbidden, and less
  /// than any cost where `worse` goes with nothing.
  int64_t mostMore(size_t node, size_t edge, size_t better, size_t worse) const {
    const std::vector<char> &others = stays[neighbour(node, edge)];
    int64_t most = -kForbiddenCost;
    for (size_t other = 0; other < others.size(); ++other) {
      if (!others[other] || price(node, edge, worse, other) >= kForbiddenCost)
        continue;
      if (price(node, edge, better, other) >= kForbiddenCost)
        return kForbiddenCost;
      most = std::max(most, price(node, edge, better, other) - price(node, edge, worse, other));
    }
    return most;
  }

  const ShardProblem &problem;
  std::vector<std::vector<size_t>> edgesOf;
  std::vector<std::vector<char>> stays;
};

} // namespace

ShardProblem mergedEdges(const ShardProblem &problem) {
  ShardProblem merged = problem;
  merged.edges.clear();
  std::map<std::pair<int, int>, size_t> places;
  for (const ShardEdge &edge : problem.edges) {
    const size_t rows = problem.nodes[static_cast<size_t>(edge.from)].costs.size();
    const size_t columns = problem.nodes[static_cast<size_t>(edge.to)].costs.size();
    if (edge.from == edge.to) {
      std::vector<int64_t> &costs = merged.nodes[static_cast<size_t>(edge.from)].costs;
      for (size_t strategy = 0; strategy < rows; ++strategy)
        costs[strategy] = sum(costs[strategy], edge.costs[strategy * columns + strategy]);
      continue;
    }
    const bool swapped = edge.from > edge.to;
    const std::pair<int, int> ends = std::minmax(edge.from, edge.to);
    const auto [at, isNew] = places.emplace(ends, merged.edges.size());
    if (isNew)
      merged.edges.push_back({ends.first, ends.second, std::vector<int64_t>(edge.costs.size(), 0)});
    std::vector<int64_t> &costs = merged.edges[at->second].costs;
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        int64_t &cost = costs[swapped ? column * rows + row : row * columns + column];
        cost = sum(cost, edge.costs[row * columns + column]);
      }
  }
  return merged;
}

std::vector<std::vector<char>> neededStrategies(const ShardProblem &problem) {
  return Reduction(problem).run();
}

} // namespace kedge::solver
