// First fit: items in some order, each to the lowest gap that it fits into.
#pragma once
#include "lib/Solver/Arena/ArenaEffort.h"
#include "lib/Solver/Arena/ArenaProblem.h"

namespace kedge::solver {

struct ArenaPlacement {
  std::vector<int64_t> offsets; ///< units, one per item
  int64_t height = 0;           ///< units
};

/// What the orders of first fit, which take quadratic time, are tried for. Larger problems are placed in the
/// order of time, forward and backward, and not improved.
constexpr size_t mostFirstFitItems = 20'000;

/// The best of several orders (by size, area, length, start, end). Stops at `enough` units.
ArenaPlacement firstFit(const ArenaProblem &problem, int64_t enough, ArenaEffort &effort);

/// Places the items whose offset is negative around the others, by area, and sets the height.
void fillGaps(const ArenaProblem &problem, ArenaEffort &effort, ArenaPlacement &placement);

/// Local search over orders, for problems that are too large for ArenaSearch: items that end up highest are
/// taken earlier. Stops at `enough` units or when the effort is spent.
void improveFirstFit(const ArenaProblem &problem, int64_t enough, ArenaEffort &effort, ArenaRandom &random,
                     ArenaPlacement &best);

} // namespace kedge::solver
