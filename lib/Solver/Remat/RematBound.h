// Proven lower bounds: what no plan can beat.
#pragma once
#include "lib/Solver/Remat/RematModel.h"
#include "lib/Solver/Remat/RematPrecedence.h"
#include <limits>

namespace kedge::solver {

/// Added cost where there is no plan.
inline constexpr double infiniteCost = std::numeric_limits<double>::infinity();

struct RematBound {
  double addedCost = 0; ///< of any plan within the budget; infiniteCost when there is none
  int64_t peak = 0;     ///< of any plan
};

/// Bounds for budgets of one problem. What they have in common is found once; then they are independent, and
/// may be asked for from several threads.
class RematBounds {
public:
  explicit RematBounds(const RematModel &model);

  /// Stops when the bound reaches `enough`, the added cost of a plan at hand.
  RematBound within(int64_t budget, double enough) const;

private:
  std::vector<int> moments() const;
  int64_t screen(int node);

  const RematModel &model;
  RematPrecedence precedence;
  double grid;
  int64_t allWork;                              ///< of cuts, for a budget
  int64_t peak = 0;                             ///< of any plan
  std::vector<std::pair<double, int>> screened; ///< bytes at first runs where nothing is paid
};

inline RematBound boundRemat(const RematModel &model, int64_t budget, double enough) {
  return RematBounds(model).within(budget, enough);
}

} // namespace kedge::solver
