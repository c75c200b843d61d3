#include "lib/Solver/Shard/ShardTrees.h"
#include <algorithm>
#include <limits>

namespace kedge::solver {

ShardTrees::ShardTrees(const ShardModel &model)
    : model(model), placeOf(static_cast<size_t>(model.nodes()), -1) {}

/// If at most one neighbour is in the trees.
bool ShardTrees::add(int node) {
  const size_t at = static_cast<size_t>(node);
  int parent = -1;
  for (int link = model.linkFirst[at]; link < model.linkFirst[at + 1]; ++link) {
    if (placeOf[static_cast<size_t>(model.links[static_cast<size_t>(link)].other)] < 0)
      continue;
    if (parent >= 0)
      return false;
    parent = link;
  }
  placeOf[at] = static_cast<int>(members.size());
  members.push_back(node);
  parentLink.push_back(parent);
  for (int link = model.linkFirst[at]; link < model.linkFirst[at + 1]; ++link)
    if (placeOf[static_cast<size_t>(model.links[static_cast<size_t>(link)].other)] < 0)
      border.push_back(model.links[static_cast<size_t>(link)].other);
  return true;
}

void ShardTrees::grow(const std::vector<int> &seeds, int size, std::mt19937_64 &random) {
  for (int node : members)
    placeOf[static_cast<size_t>(node)] = -1;
  members.clear();
  parentLink.clear();
  border.clear();
  for (int seed : seeds)
    if (placeOf[static_cast<size_t>(seed)] < 0)
      add(seed);
  while (static_cast<int>(members.size()) < size && !border.empty()) {
    const size_t drawn = static_cast<size_t>(drawBelow(random, static_cast<int>(border.size())));
    const int node = border[drawn];
    border[drawn] = border.back();
    border.pop_back();
    if (placeOf[static_cast<size_t>(node)] < 0)
      add(node);
  }
}

void ShardTrees::price(const ShardState &state) {
  alone.clear();
  costs.clear();
  for (int node : members) {
    const size_t at = static_cast<size_t>(node), count = static_cast<size_t>(model.strategies(node));
    costs.push_back(alone.size());
    alone.insert(alone.end(), model.cost.begin() + model.first[at], model.cost.begin() + model.first[at + 1]);
    double *mine = &alone[costs.back()];
    for (int link = model.linkFirst[at]; link < model.linkFirst[at + 1]; ++link) {
      const ShardLink &each = model.links[static_cast<size_t>(link)];
      if (placeOf[static_cast<size_t>(each.other)] >= 0)
        continue;
      const int other = state.label(each.other) - model.first[static_cast<size_t>(each.other)];
      const double *row = &model.prices[each.inward + static_cast<size_t>(other) * count];
      for (size_t strategy = 0; strategy < count; ++strategy)
        mine[strategy] += row[strategy];
    }
  }
}

/// To the parent: for each of its strategies, the least that this member and all after it cost.
void ShardTrees::send(size_t place) {
  const ShardLink &link = model.links[static_cast<size_t>(parentLink[place])];
  const int node = members[place];
  const size_t theirs = static_cast<size_t>(model.strategies(link.other));
  double *parent = &sum[costs[static_cast<size_t>(placeOf[static_cast<size_t>(link.other)])]];
  least.assign(theirs, std::numeric_limits<double>::infinity());
  const double *row = &model.prices[link.outward];
  for (int strategy = 0; strategy < model.strategies(node); ++strategy, row += theirs) {
    const double mine = sum[costs[place] + static_cast<size_t>(strategy)];
    for (size_t other = 0; other < theirs; ++other)
      least[other] = row[other] + mine < least[other] ? row[other] + mine : least[other];
  }
  for (size_t other = 0; other < theirs; ++other)
    parent[other] += least[other];
}

void ShardTrees::solve(const std::vector<double> &pricesBefore) {
  sum = alone;
  for (size_t place = 0; place < members.size(); ++place) {
    const size_t at = static_cast<size_t>(members[place]);
    for (int each = model.spanFirst[at]; each < model.spanFirst[at + 1]; ++each) {
      const ShardSpan &span = model.spans[static_cast<size_t>(each)];
      const double price =
          pricesBefore[static_cast<size_t>(span.end)] - pricesBefore[static_cast<size_t>(span.begin)];
      if (price != 0)
        for (size_t strategy = 0; strategy < static_cast<size_t>(model.strategies(members[place]));
             ++strategy)
          sum[costs[place] + strategy] += price * static_cast<double>(model.amounts[span.amounts + strategy]);
    }
  }
  for (size_t place = members.size(); place-- > 0;)
    if (parentLink[place] >= 0)
      send(place);
  best.resize(members.size());
  for (size_t place = 0; place < members.size(); ++place) {
    const int node = members[place], count = model.strategies(node);
    double *mine = &sum[costs[place]];
    if (parentLink[place] >= 0) {
      const ShardLink &link = model.links[static_cast<size_t>(parentLink[place])];
      const int parent = best[static_cast<size_t>(placeOf[static_cast<size_t>(link.other)])] -
                         model.first[static_cast<size_t>(link.other)];
      const double *row = &model.prices[link.inward + static_cast<size_t>(parent * count)];
      for (int strategy = 0; strategy < count; ++strategy)
        mine[strategy] += row[strategy];
    }
    best[place] = model.first[static_cast<size_t>(node)] +
                  static_cast<int>(std::min_element(mine, mine + count) - mine);
  }
}

} // namespace kedge::solver
