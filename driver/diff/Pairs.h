// Which values of two traces are the same value of the model.
#pragma once
#include "driver/diff/Trace.h"

namespace kedge::driver {

struct Pair {
  const TracedTensor *a = nullptr, *b = nullptr;
  bool equal = false; ///< to the bit
};

struct Pairs {
  std::vector<Pair> pairs;      ///< in the order of A
  int64_t onlyA = 0, onlyB = 0; ///< values that the other program does not have in memory
};

/// States by name. Values by function and run, module, part of the step and shape; of several that share
/// these, equal ones belong together, then the nearest. A value that is computed again counts once.
Pairs pairsOf(const std::vector<TracedTensor> &a, const std::vector<TracedTensor> &b);

/// What values that may be the same have in common.
std::string keyOf(const TracedTensor &tensor);

} // namespace kedge::driver
