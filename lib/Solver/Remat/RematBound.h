// Proven lower bounds: what no plan can beat.
#pragma once
#include "RematModel.h"
#include <limits>

namespace kedge::solver {

/// Added cost where there is no plan.
inline constexpr double infiniteCost = std::numeric_limits<double>::infinity();

struct RematBound {
  double addedCost = 0; ///< of any plan within the budget; infiniteCost when there is none
  int64_t peak = 0;     ///< of any plan
};

/// Stops when the bound reaches `enough`, the added cost of a plan at hand.
RematBound boundRemat(const RematModel &model, int64_t budget, double enough);

} // namespace kedge::solver
