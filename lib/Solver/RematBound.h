// Proven lower bounds: what no plan can beat.
#pragma once
#include "RematModel.h"

namespace kedge::solver {

struct RematBound {
  double addedCost = 0; ///< of any plan within the budget; infinite when there is none
  int64_t peak = 0;     ///< of any plan
};

/// Stops when the bound reaches `enough`, the added cost of a plan at hand.
RematBound boundRemat(const RematModel &model, int64_t budget, double enough);

} // namespace kedge::solver
