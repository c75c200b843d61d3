#include "lib/Solver/Shard/ShardLocalSearch.h"
#include <algorithm>

namespace kedge::solver {
namespace {

constexpr int kTries = 8;

/// A price that makes the mean cost of a node as much as the mean usage of one.
double meanPrice(const ShardModel &model) {
  double cost = 1, usage = 1;
  for (double each : model.cost)
    cost += each;
  for (int64_t each : model.amounts)
    usage += static_cast<double>(each);
  return cost / usage;
}

} // namespace

ShardLocalSearch::ShardLocalSearch(const ShardModel &model, const std::vector<double> &prices, uint64_t seed)
    : model(model), prices(prices), trees(model), random(seed), extra(prices.size()),
      before(prices.size() + 1) {
  double sum = 0;
  int count = 0;
  for (double price : prices) {
    sum += price;
    count += price > 0;
  }
  typical = count > 0 ? sum / count : meanPrice(model);
}

bool ShardLocalSearch::usesAt(int node, int time) const {
  for (int each = model.spanFirst[static_cast<size_t>(node)];
       each < model.spanFirst[static_cast<size_t>(node) + 1]; ++each)
    if (model.spans[static_cast<size_t>(each)].begin <= time &&
        time < model.spans[static_cast<size_t>(each)].end)
      return true;
  return false;
}

/// One to three nodes, in use at one time if possible.
std::vector<int> ShardLocalSearch::seeds(const ShardState &state) {
  int time = state.worstTime();
  std::vector<int> found;
  const int wanted = 1 + drawBelow(random, 3);
  for (int draw = 0; draw < 60 && static_cast<int>(found.size()) < wanted; ++draw) {
    const int node = drawBelow(random, model.nodes());
    if (time < 0 || usesAt(node, time))
      found.push_back(node);
    const int from = model.spanFirst[static_cast<size_t>(node)],
              count = model.spanFirst[static_cast<size_t>(node) + 1] - from;
    if (time < 0 && count > 0) {
      const ShardSpan &span = model.spans[static_cast<size_t>(from + drawBelow(random, count))];
      time = span.begin + drawBelow(random, span.end - span.begin);
    }
  }
  if (found.empty())
    found.push_back(drawBelow(random, model.nodes()));
  return found;
}

void ShardLocalSearch::improve(ShardState &state, int size) {
  trees.grow(seeds(state), size, random);
  trees.price(state);
  tryPrices(state);
}

/// Without prices first: what fits then is best. Then with the dual's, and more at the times that exceed the
/// limit; after labels that fit, with less.
void ShardLocalSearch::tryPrices(ShardState &state) {
  std::fill(extra.begin(), extra.end(), 0);
  ShardState::Worth best = state.worth();
  std::vector<int> labels, over;
  double scale = 0, lower = 0, upper = -1;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    for (size_t time = 0; time < prices.size(); ++time)
      before[time + 1] = before[time] + scale * prices[time] + extra[time];
    trees.solve(before);
    over.clear();
    const ShardState::Worth worth = state.worthWith(trees.nodes(), trees.labels(), &over);
    if (!(best < worth)) {
      best = worth;
      labels = trees.labels();
    }
    const bool fits = over.empty();
    if (fits && attempt == 0)
      break;
    (fits ? upper : lower) = scale;
    if (!fits && (attempt > 0 || prices.empty()))
      for (int time : over)
        extra[static_cast<size_t>(time)] += typical * (1 << attempt) / 4;
    scale = attempt == 0 ? 1 : fits ? (lower + upper) / 2 : upper >= 0 ? (scale + upper) / 2 : scale;
  }
  if (!labels.empty())
    state.set(trees.nodes(), labels);
}

} // namespace kedge::solver
