#include "MinCut.h"
#include <algorithm>

namespace kedge::solver {

int MinCut::addArc(int from, int to, double capacity) {
  int arc = static_cast<int>(arcs.size());
  arcs.push_back({to, 0});
  arcs.push_back({from, 0});
  arcsOf[from].push_back(arc);
  arcsOf[to].push_back(arc + 1);
  capacities.push_back(capacity);
  return arc / 2;
}

bool MinCut::labelNodes(int source, int sink) {
  std::fill(level.begin(), level.end(), -1);
  std::vector<int> queue{source};
  level[source] = 0;
  for (size_t i = 0; i < queue.size(); ++i, ++looks)
    for (int arc : arcsOf[queue[i]])
      if (arcs[arc].left > negligible && level[arcs[arc].to] < 0) {
        level[arcs[arc].to] = level[queue[i]] + 1;
        queue.push_back(arcs[arc].to);
      }
  looks += static_cast<int64_t>(arcs.size()) / 4;
  return level[sink] >= 0;
}

double MinCut::push(int node, int sink, double flow) {
  if (node == sink)
    return flow;
  double pushed = 0;
  for (size_t &i = next[node]; i < arcsOf[node].size(); ++i) {
    int arc = arcsOf[node][i];
    ++looks;
    if (arcs[arc].left <= negligible || level[arcs[arc].to] != level[node] + 1)
      continue;
    double step = push(arcs[arc].to, sink, std::min(flow - pushed, arcs[arc].left));
    arcs[arc].left -= step;
    arcs[arc ^ 1].left += step;
    pushed += step;
    if (flow - pushed <= negligible)
      return pushed;
  }
  return pushed;
}

std::vector<char> MinCut::sourceSide(int source, int sink) {
  double total = 0;
  for (size_t arc = 0; arc < capacities.size(); ++arc) {
    arcs[2 * arc].left = capacities[arc];
    arcs[2 * arc + 1].left = 0;
    if (capacities[arc] < unlimited)
      total += capacities[arc];
  }
  negligible = total * 1e-13;
  while (labelNodes(source, sink)) {
    std::fill(next.begin(), next.end(), 0);
    if (push(source, sink, unlimited) >= unlimited / 2)
      return {};
  }
  std::vector<char> side(level.size());
  for (size_t node = 0; node < side.size(); ++node)
    side[node] = level[node] >= 0;
  return side;
}

} // namespace kedge::solver
