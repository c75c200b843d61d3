#include "lib/Solver/Shard/ShardState.h"
#include <algorithm>

namespace kedge::solver {

ShardState::ShardState(const ShardModel &model, std::vector<int> labels)
    : model(model), chosen(std::move(labels)), usage(static_cast<size_t>(model.times)),
      change(static_cast<size_t>(model.times) + 1) {
  for (int node = 0; node < model.nodes(); ++node) {
    const size_t at = static_cast<size_t>(node), label = static_cast<size_t>(chosen[at]);
    cost += model.cost[label];
    for (int link = model.linkFirst[at]; link < model.linkFirst[at + 1]; ++link) {
      const ShardLink &each = model.links[static_cast<size_t>(link)];
      if (each.atFrom)
        cost += costOf(node, link);
    }
    for (int time = model.begin[at]; time < model.end[at]; ++time)
      usage[static_cast<size_t>(time)] += model.usage[label];
  }
  for (int64_t used : usage)
    excess += std::max<int64_t>(0, used - model.limit);
}

/// Of a link, as its node and its neighbour are labelled.
double ShardState::costOf(int node, int link) const {
  const ShardLink &each = model.links[static_cast<size_t>(link)];
  const int mine = chosen[static_cast<size_t>(node)] - model.first[static_cast<size_t>(node)];
  const int theirs = chosen[static_cast<size_t>(each.other)] - model.first[static_cast<size_t>(each.other)];
  return model.prices[each.outward + static_cast<size_t>(mine * model.strategies(each.other) + theirs)];
}

ShardState::Worth ShardState::worthWith(const std::vector<int> &nodes, const std::vector<int> &labels,
                                        std::vector<int> *over) {
  Worth then{excess, cost};
  std::vector<int> old(nodes.size());
  int from = model.times, to = 0;
  for (size_t place = 0; place < nodes.size(); ++place) {
    const int node = nodes[place];
    const size_t at = static_cast<size_t>(node);
    old[place] = chosen[at];
    const size_t before = static_cast<size_t>(chosen[at]), after = static_cast<size_t>(labels[place]);
    if (before == after)
      continue;
    then.cost += model.cost[after] - model.cost[before];
    for (int link = model.linkFirst[at]; link < model.linkFirst[at + 1]; ++link)
      then.cost -= costOf(node, link);
    chosen[at] = labels[place]; // so that the next node of an edge within them sees it
    for (int link = model.linkFirst[at]; link < model.linkFirst[at + 1]; ++link)
      then.cost += costOf(node, link);
    if (model.begin[at] < model.end[at] && model.usage[before] != model.usage[after]) {
      change[static_cast<size_t>(model.begin[at])] += model.usage[after] - model.usage[before];
      change[static_cast<size_t>(model.end[at])] -= model.usage[after] - model.usage[before];
      from = std::min(from, model.begin[at]);
      to = std::max(to, model.end[at]);
    }
  }
  for (size_t place = 0; place < nodes.size(); ++place)
    chosen[static_cast<size_t>(nodes[place])] = old[place];
  int64_t more = 0;
  for (int time = from; time < to; ++time) {
    const size_t at = static_cast<size_t>(time);
    more += change[at];
    change[at] = 0;
    const int64_t now = usage[at] - model.limit, next = now + more;
    then.excess += std::max<int64_t>(0, next) - std::max<int64_t>(0, now);
    if (over && next > 0)
      over->push_back(time);
  }
  if (from < to)
    change[static_cast<size_t>(to)] = 0;
  return then;
}

void ShardState::set(const std::vector<int> &nodes, const std::vector<int> &labels) {
  const Worth then = worthWith(nodes, labels, nullptr);
  for (size_t place = 0; place < nodes.size(); ++place) {
    const size_t at = static_cast<size_t>(nodes[place]);
    const int64_t more =
        model.usage[static_cast<size_t>(labels[place])] - model.usage[static_cast<size_t>(chosen[at])];
    chosen[at] = labels[place];
    if (more != 0)
      for (int time = model.begin[at]; time < model.end[at]; ++time)
        usage[static_cast<size_t>(time)] += more;
  }
  cost = then.cost;
  excess = then.excess;
}

int ShardState::worstTime() const {
  const auto most = std::max_element(usage.begin(), usage.end());
  return most != usage.end() && *most > model.limit ? static_cast<int>(most - usage.begin()) : -1;
}

} // namespace kedge::solver
