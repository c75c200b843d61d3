#include "lib/Solver/Remat/RematUses.h"
#include <algorithm>
#include <limits>

namespace kedge::solver {

RematUses::RematUses(const RematChain &chain, const RematState &state, double costSoFar, double limit)
    : total(costSoFar), limit(limit) {
  findSure(chain, state);
  if (!hopeless())
    findUseful(chain, state);
}

void RematUses::findSure(const RematChain &chain, const RematState &state) {
  std::vector<int> open;
  auto add = [&](int node) {
    for (int value : chain.inputs[node])
      if (state.missing(value) && !sure.has(value)) {
        sure.add(value);
        total += chain.cost[value];
        open.push_back(value);
      }
  };
  for (int node = state.next; node < chain.size; ++node)
    add(node);
  while (!open.empty()) {
    int value = open.back();
    open.pop_back();
    add(value);
  }
}

void RematUses::findUseful(const RematChain &chain, const RematState &state) {
  std::vector<double> toUse(chain.size, std::numeric_limits<double>::infinity());
  for (int value = chain.size - 1; value >= 0; --value) {
    for (int reader : chain.readers[value]) {
      double run = sure.has(reader) ? 0 : chain.cost[reader];
      toUse[value] = std::min(toUse[value], reader >= state.next ? 0 : toUse[reader] + run);
    }
    if (total + toUse[value] < limit)
      useful.add(value);
    double run = sure.has(value) ? 0 : chain.cost[value];
    if (state.missing(value) && total + toUse[value] + run < limit)
      worthRunning.push_back(value);
  }
}

} // namespace kedge::solver
