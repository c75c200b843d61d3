// Buffers as the packers see them: sizes in a common unit, time cut to the sections that matter.
#pragma once
#include "lib/Solver/Arena/ArenaPacking.h"
#include <cstddef>

namespace kedge::solver {

/// Lives in the sections first..last, both included.
struct ArenaItem {
  int first = 0, last = 0;
  int64_t size = 0; ///< above 0, in units
};

inline bool liveTogether(const ArenaItem &a, const ArenaItem &b) {
  return a.first <= b.last && b.first <= a.last;
}

/// A set of items that share no section with any other item of the arena. A section stands for a largest set
/// of items that live at once: two items overlap in time exactly when they share one.
struct ArenaProblem {
  int sections = 0;
  std::vector<ArenaItem> items;
  std::vector<size_t> buffers; ///< of each item: index of its buffer

  int64_t load() const; ///< units
};

struct ArenaProblems {
  int64_t unit = 1; ///< bytes
  std::vector<ArenaProblem> parts;
};

/// Buffers that never live or hold nothing are left out. Sizes are multiples of the alignment.
ArenaProblems makeArenaProblems(const std::vector<Buffer> &buffers);

} // namespace kedge::solver
