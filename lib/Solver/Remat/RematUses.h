// Which values can be of use from a state on, in any plan below a cost.
#pragma once
#include "lib/Solver/Remat/RematChain.h"

namespace kedge::solver {

/// A value that is missing and needed is run once more, and so is what is missing to run it: these runs are
/// sure. Any other run that reads a value, and those that use its result up to a sure or a first run, cost
/// something on top. Where that takes the cost to the limit, the value is of no use.
struct RematUses {
  RematUses(const RematChain &chain, const RematState &state, double costSoFar, double limit);
  bool hopeless() const { return !(total < limit); }

  double total, limit; ///< cost so far and of the sure runs
  RematValueSet useful;
  std::vector<int> worthRunning; ///< missing values

private:
  void findSure(const RematChain &chain, const RematState &state);
  void findUseful(const RematChain &chain, const RematState &state);
  RematValueSet sure;
};

} // namespace kedge::solver
