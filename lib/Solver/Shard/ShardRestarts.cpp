#include "lib/Solver/Shard/ShardRestarts.h"
#include <algorithm>
#include <cmath>

namespace kedge::solver {
namespace {

constexpr int kParts = 40;       ///< of the times, with a factor each
constexpr int kPasses = 6;       ///< at changed prices
constexpr int kMoreAt = 3;       ///< times that get a price, in every second start
constexpr int kMostMixed = 4000; ///< nodes

} // namespace

ShardRestarts::ShardRestarts(const ShardModel &model, ShardDual &dual, uint64_t seed)
    : model(model), dual(dual), prices(dual.prices()), random(seed) {
  double sum = 0;
  int count = 0;
  for (const double price : prices) {
    sum += price;
    count += price > 0;
  }
  typical = count > 0 ? sum / count : 0;
}

/// From -1 to 1.
double ShardRestarts::drawEvenly() { return static_cast<double>(random() >> 11) * 0x1p-52 - 1; }

std::vector<double> ShardRestarts::changedPrices() {
  std::vector<double> changed = prices;
  const double spread = std::exp(2 * drawEvenly() - 1);
  const double all = spread * drawEvenly();
  const size_t part = std::max<size_t>(1, changed.size() / kParts);
  double own = 0;
  for (size_t time = 0; time < changed.size(); ++time) {
    if (time % part == 0)
      own = 2 * spread * drawEvenly();
    changed[time] *= std::exp(all + own);
  }
  if (!changed.empty() && drawBelow(random, 2) == 0)
    for (int more = 0; more < kMoreAt; ++more)
      changed[static_cast<size_t>(drawBelow(random, model.times))] +=
          typical * std::exp(2 * drawEvenly() - 1);
  return changed;
}

/// Nodes around one, as far as they are connected.
void ShardRestarts::mix(std::vector<int> &labels, const std::vector<int> &others) {
  const int most = std::min(model.nodes(), kMostMixed);
  const auto wanted = static_cast<size_t>(1 + drawBelow(random, std::max(1, most / 2)));
  std::vector<int> nodes{drawBelow(random, model.nodes())};
  std::vector<char> drawn(labels.size(), false);
  drawn[static_cast<size_t>(nodes[0])] = true;
  for (size_t at = 0; at < nodes.size() && nodes.size() < wanted; ++at)
    for (int link = model.linkFirst[static_cast<size_t>(nodes[at])];
         link < model.linkFirst[static_cast<size_t>(nodes[at]) + 1]; ++link) {
      const int other = model.links[static_cast<size_t>(link)].other;
      if (!drawn[static_cast<size_t>(other)]) {
        drawn[static_cast<size_t>(other)] = true;
        nodes.push_back(other);
      }
    }
  for (const int node : nodes)
    labels[static_cast<size_t>(node)] = others[static_cast<size_t>(node)];
}

std::vector<int> ShardRestarts::next(const std::vector<int> &best) {
  dual.goBack();
  dual.setPrices(changedPrices());
  for (int pass = 0; pass < kPasses; ++pass)
    dual.pass(pass % 2 == 0);
  std::vector<int> labels = dual.labels();
  dual.goBack();
  if (best.empty() || drawBelow(random, 2) == 0)
    return labels;
  std::vector<int> mixed = best;
  mix(mixed, labels);
  return mixed;
}

} // namespace kedge::solver
