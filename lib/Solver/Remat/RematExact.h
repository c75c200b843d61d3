// A search of all states of problems whose first runs come in one order: proves that no plan is cheaper.
#pragma once
#include "lib/Solver/Remat/RematChain.h"
#include <functional>

namespace kedge::solver {

struct RematProofLimits {
  /// Counted in looks at arcs of cuts. The search ends at an eighth of it where the bound rises too slowly to
  /// get anywhere.
  int64_t effort = 0;
  std::function<bool()> outOfTime; ///< for benchmarks
};

/// A lower bound on the added cost of every plan within the budget, at most `enough`, the added cost of a
/// plan at hand: where it is that, there is no cheaper one.
double proveRemat(const RematChain &chain, int64_t budget, double enough, const RematProofLimits &limits);

} // namespace kedge::solver
