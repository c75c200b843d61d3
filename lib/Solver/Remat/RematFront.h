// Plans for all budgets at once: a fixed walk down a ladder of budgets, so that the answer for one budget
// never depends on which other was asked for.
#pragma once
#include "lib/Solver/Remat/RematSearch.h"
#include <functional>

namespace kedge::solver {

/// Plans of which none has both a smaller peak and a smaller cost than another; by falling peak.
class RematFront {
public:
  explicit RematFront(const RematModel &model) : model(model) {}

  struct Entry {
    int64_t peak = 0;
    double cost = 0; ///< of all steps
    std::vector<int> sequence;
  };
  /// Keeps a sequence that is worth it. Ignores one that breaks a rule of the problem.
  bool add(const std::vector<int> &sequence);
  /// The cheapest within the budget, else null.
  const Entry *within(int64_t budget) const;
  /// The plan with the least peak over the budget, which is where a search for a smaller one begins.
  const Entry &smallestPeak() const { return entries.back(); }
  const std::vector<Entry> &all() const { return entries; }

private:
  const RematModel &model;
  std::vector<Entry> entries;
};

struct LadderOptions {
  int64_t workPerRung = 0;
  int64_t lowestBudget = 0; ///< rungs below are left out
  uint64_t seed = 1;
  std::function<bool()> outOfTime;
  std::function<void(double)> progress; ///< told the share of the walk that is done; may be empty
};

/// Walks down the ladder of budgets and up again.
void climbLadder(const RematModel &model, RematFront &front, const LadderOptions &options);

/// Walks from the smallest plan to smaller ones alone.
void lowerPeak(const RematModel &model, RematFront &front, const LadderOptions &options);

/// Restarts at one budget until `timeUsed`, a share of the time limit, is 1, or `enough` holds.
void focusOn(const RematModel &model, RematFront &front, int64_t budget, uint64_t seed,
             const std::function<double()> &timeUsed, const std::function<bool()> &enough);

} // namespace kedge::solver
