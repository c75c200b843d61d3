#include "lib/Solver/Mesh/JointSearch.h"
#include <algorithm>
#include <queue>
#include <stdexcept>

namespace kedge::solver {
namespace {

/// Sums of seconds in another order differ in their last bits.
constexpr double kLastBits = 1e-9;

class Search {
public:
  Search(JointOracle &oracle, const std::vector<JointChoice> &choices, const JointOptions &options)
      : oracle(oracle), options(options) {
    result.rows.resize(choices.size());
    for (size_t i = 0; i < choices.size(); ++i) {
      result.rows[i].choice = choices[i];
      open.push({0, i, 0});
    }
  }

  JointResult run() {
    for (size_t i = 0; i < result.rows.size(); ++i)
      if (result.rows[i].choice == options.first)
        planFirst(result.rows[i], i);
    while (!open.empty() && !isClosed(open.top())) {
      const Open next = open.top();
      open.pop();
      if (next.known < oracle.bounds())
        raise(next);
      else if (!result.rows[next.row].planned)
        makePlan(next.row);
    }
    return finish();
  }

private:
  struct Open {
    double bound;
    size_t row;
    int known; ///< bounds

    /// The queue's first is the largest.
    bool operator<(const Open &other) const {
      return bound != other.bound ? bound > other.bound : row > other.row;
    }
  };

  void planFirst(JointRow &row, size_t index) {
    for (int which = 0; which < oracle.bounds(); ++which)
      row.bound = std::max(row.bound, oracle.bound(row.choice, which));
    makePlan(index);
  }

  bool isSpent() const { return options.spend > 0 && best < kNever && oracle.spent() >= options.spend; }

  bool isClosed(const Open &first) const {
    return first.bound == kNever || first.bound * (1 + options.tolerance) >= best ||
           (first.known >= oracle.cheapBounds() && isSpent()) ||
           (options.plans > 0 && result.planned >= options.plans && first.known >= oracle.bounds());
  }

  void raise(const Open &next) {
    JointRow &row = result.rows[next.row];
    row.bound = std::max(row.bound, oracle.bound(row.choice, next.known));
    open.push({row.bound, next.row, next.known + 1});
  }

  void makePlan(size_t index) {
    JointRow &row = result.rows[index];
    row.plan = oracle.plan(row.choice);
    row.planned = true;
    ++result.planned;
    if (row.plan.fits && row.plan.seconds < row.bound * (1 - kLastBits))
      throw std::logic_error("a plan is faster than the bound of its choice");
    row.plan.lowerBound = std::clamp(row.plan.lowerBound, row.bound, std::max(row.bound, row.plan.seconds));
    if (row.plan.fits)
      best = std::min(best, row.plan.seconds);
  }

  JointResult finish() {
    for (const JointRow &row : result.rows)
      result.lowerBound = std::min(result.lowerBound, row.least());
    result.lowerBound = std::min(result.lowerBound, best);
    const auto rank = [](const JointRow &row) { return row.planned && row.plan.fits ? 0 : 1; };
    std::stable_sort(result.rows.begin(), result.rows.end(), [&](const JointRow &a, const JointRow &b) {
      if (rank(a) != rank(b))
        return rank(a) < rank(b);
      return rank(a) == 0 ? a.plan.seconds < b.plan.seconds : a.least() < b.least();
    });
    return std::move(result);
  }

  JointOracle &oracle;
  const JointOptions &options;
  std::priority_queue<Open> open;
  JointResult result;
  double best = kNever;
};

} // namespace

JointResult searchJointly(JointOracle &oracle, const std::vector<JointChoice> &choices,
                          const JointOptions &options) {
  return Search(oracle, choices, options).run();
}

} // namespace kedge::solver
