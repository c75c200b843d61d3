// Which values of two traces are the same value of the model.
#pragma once
#include "driver/diff/Trace.h"

namespace kedge::driver {

struct Pair {
  const TracedTensor *a = nullptr, *b = nullptr;
  bool equal = false; ///< to the bit
};

struct Pairs {
  std::vector<Pair> pairs;      ///< in the order of A, or of B
  int64_t onlyA = 0, onlyB = 0; ///< values that the other program does not have in memory
};

struct PairRules {
  bool byNearness = true; ///< what has no name may belong to what is alike
  bool orderOfB = false;  ///< the pairs are in the order of B
};

/// States by name, values by the name that they have in all programs of the model, and by shape. What has
/// none: by function and run, module, part of the step and shape; of several that share these, equal ones
/// belong together, then the nearest. A value that is computed again counts once.
Pairs pairsOf(const std::vector<TracedTensor> &a, const std::vector<TracedTensor> &b, PairRules rules = {});

/// What values that may be the same have in common.
std::string keyOf(const TracedTensor &tensor);

} // namespace kedge::driver
