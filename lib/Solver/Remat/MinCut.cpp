#include "lib/Solver/Remat/MinCut.h"
#include <algorithm>

namespace kedge::solver {

void MinCut::reset(int nodes) {
  ends.clear();
  capacities.clear();
  placeOf.clear();
  first.assign(nodes + 1, 0);
  level.resize(nodes);
  next.resize(nodes);
}

int MinCut::addArc(int from, int to, double capacity) {
  ends.push_back({from, to});
  capacities.push_back(capacity);
  return static_cast<int>(ends.size()) - 1;
}

/// Arcs of a node side by side, in the order in which they were added.
void MinCut::layOut() {
  if (placeOf.size() == ends.size())
    return;
  std::fill(first.begin(), first.end(), 0);
  for (Ends arc : ends) {
    ++first[arc.from + 1];
    ++first[arc.to + 1];
  }
  for (size_t node = 1; node < first.size(); ++node)
    first[node] += first[node - 1];
  std::copy(first.begin(), first.end() - 1, next.begin());
  arcs.resize(2 * ends.size());
  placeOf.resize(ends.size());
  for (size_t i = 0; i < ends.size(); ++i) {
    int there = next[ends[i].from]++, back = next[ends[i].to]++;
    arcs[there] = {ends[i].to, back, 0};
    arcs[back] = {ends[i].from, there, 0};
    placeOf[i] = there;
  }
}

bool MinCut::labelNodes(int source, int sink) {
  std::fill(level.begin(), level.end(), -1);
  queue.resize(level.size());
  queue[0] = source;
  level[source] = 0;
  int count = 1;
  for (int i = 0; i < count; ++i) {
    int node = queue[i], next = level[node] + 1;
    for (const Arc *arc = arcs.data() + first[node], *end = arcs.data() + first[node + 1]; arc != end; ++arc)
      if (arc->left > negligible && level[arc->to] < 0) {
        level[arc->to] = next;
        queue[count++] = arc->to;
      }
  }
  looks += count + static_cast<int64_t>(arcs.size()) / 4;
  return level[sink] >= 0;
}

double MinCut::push(int node, int sink, double flow) {
  if (node == sink)
    return flow;
  double pushed = 0;
  int nextLevel = level[node] + 1, last = first[node + 1];
  for (int &i = next[node]; i < last; ++i) {
    Arc &arc = arcs[i];
    ++looks;
    if (arc.left <= negligible || level[arc.to] != nextLevel)
      continue;
    double step = push(arc.to, sink, std::min(flow - pushed, arc.left));
    arc.left -= step;
    arcs[arc.reverse].left += step;
    pushed += step;
    if (flow - pushed <= negligible)
      return pushed;
  }
  return pushed;
}

std::vector<char> MinCut::sourceSide(int source, int sink) {
  layOut();
  double total = 0;
  for (Arc &arc : arcs)
    arc.left = 0;
  for (size_t arc = 0; arc < capacities.size(); ++arc) {
    arcs[placeOf[arc]].left = capacities[arc];
    if (capacities[arc] < unlimited)
      total += capacities[arc];
  }
  negligible = total * 1e-13;
  while (labelNodes(source, sink)) {
    std::copy(first.begin(), first.end() - 1, next.begin());
    if (push(source, sink, unlimited) >= unlimited / 2)
      return {};
  }
  std::vector<char> side(level.size());
  for (size_t node = 0; node < side.size(); ++node)
    side[node] = level[node] >= 0;
  return side;
}

} // namespace kedge::solver
