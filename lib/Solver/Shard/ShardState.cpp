#include "lib/Solver/Shard/ShardState.h"
#include <algorithm>

namespace kedge::solver {

ShardState::ShardState(const ShardModel &of, std::vector<int> labels)
    : model(&of), chosen(std::move(labels)), usage(static_cast<size_t>(of.times)),
      change(static_cast<size_t>(of.times) + 1) {
  for (int node = 0; node < model->nodes(); ++node) {
    const size_t at = static_cast<size_t>(node), label = static_cast<size_t>(chosen[at]);
    cost += model->cost[label];
    for (int link = model->linkFirst[at]; link < model->linkFirst[at + 1]; ++link) {
      const ShardLink &each = model->links[static_cast<size_t>(link)];
      if (each.atFrom)
        cost += costOf(node, link);
    }
    for (int each = model->spanFirst[at]; each < model->spanFirst[at + 1]; ++each) {
      const ShardSpan &span = model->spans[static_cast<size_t>(each)];
      change[static_cast<size_t>(span.begin)] += model->amount(span, node, chosen[at]);
      change[static_cast<size_t>(span.end)] -= model->amount(span, node, chosen[at]);
    }
  }
  int64_t used = 0;
  for (size_t time = 0; time < usage.size(); ++time) {
    usage[time] = used += change[time];
    excess += std::max<int64_t>(0, used - model->room[time]);
  }
  std::fill(change.begin(), change.end(), 0);
}

/// Of a link, as its node and its neighbour are labelled.
double ShardState::costOf(int node, int link) const {
  const ShardLink &each = model->links[static_cast<size_t>(link)];
  const int mine = chosen[static_cast<size_t>(node)] - model->first[static_cast<size_t>(node)];
  const int theirs = chosen[static_cast<size_t>(each.other)] - model->first[static_cast<size_t>(each.other)];
  return model->prices[each.outward + static_cast<size_t>(mine * model->strategies(each.other) + theirs)];
}

ShardState::Worth ShardState::worthWith(const std::vector<int> &nodes, const std::vector<int> &labels,
                                        std::vector<int> *over) {
  Worth then{excess, cost};
  std::vector<int> old(nodes.size());
  int from = model->times, to = 0;
  for (size_t place = 0; place < nodes.size(); ++place) {
    const int node = nodes[place];
    const size_t at = static_cast<size_t>(node);
    old[place] = chosen[at];
    const size_t before = static_cast<size_t>(chosen[at]), after = static_cast<size_t>(labels[place]);
    if (before == after)
      continue;
    then.cost += model->cost[after] - model->cost[before];
    for (int link = model->linkFirst[at]; link < model->linkFirst[at + 1]; ++link)
      then.cost -= costOf(node, link);
    chosen[at] = labels[place]; // so that the next node of an edge within them sees it
    for (int link = model->linkFirst[at]; link < model->linkFirst[at + 1]; ++link)
      then.cost += costOf(node, link);
    for (int each = model->spanFirst[at]; each < model->spanFirst[at + 1]; ++each) {
      const ShardSpan &span = model->spans[static_cast<size_t>(each)];
      const int64_t more = model->amount(span, node, labels[place]) - model->amount(span, node, old[place]);
      if (more == 0)
        continue;
      change[static_cast<size_t>(span.begin)] += more;
      change[static_cast<size_t>(span.end)] -= more;
      from = std::min(from, span.begin);
      to = std::max(to, span.end);
    }
  }
  for (size_t place = 0; place < nodes.size(); ++place)
    chosen[static_cast<size_t>(nodes[place])] = old[place];
  int64_t more = 0;
  for (int time = from; time < to; ++time) {
    const size_t at = static_cast<size_t>(time);
    more += change[at];
    change[at] = 0;
    const int64_t now = usage[at] - model->room[at], next = now + more;
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
  int from = model->times, to = 0;
  for (size_t place = 0; place < nodes.size(); ++place) {
    const size_t at = static_cast<size_t>(nodes[place]);
    for (int each = model->spanFirst[at]; each < model->spanFirst[at + 1]; ++each) {
      const ShardSpan &span = model->spans[static_cast<size_t>(each)];
      const int64_t more =
          model->amount(span, nodes[place], labels[place]) - model->amount(span, nodes[place], chosen[at]);
      change[static_cast<size_t>(span.begin)] += more;
      change[static_cast<size_t>(span.end)] -= more;
      from = std::min(from, span.begin);
      to = std::max(to, span.end);
    }
    chosen[at] = labels[place];
  }
  int64_t more = 0;
  for (int time = from; time < to; ++time) {
    usage[static_cast<size_t>(time)] += more += change[static_cast<size_t>(time)];
    change[static_cast<size_t>(time)] = 0;
  }
  if (from < to)
    change[static_cast<size_t>(to)] = 0;
  cost = then.cost;
  excess = then.excess;
}

int ShardState::worstTime() const {
  int worst = -1;
  int64_t most = 0;
  for (size_t time = 0; time < usage.size(); ++time)
    if (usage[time] - model->room[time] > most) {
      most = usage[time] - model->room[time];
      worst = static_cast<int>(time);
    }
  return worst;
}

} // namespace kedge::solver
