// Library kernels as statements in C11.
#pragma once
#include "runtime/program/Program.h"
#include <set>
#include <string>

namespace kedge::exporter {

/// Functions that calls need, by name, and what those have room for.
struct Helpers {
  std::set<std::string> names;
  int64_t block = 0; ///< terms of the longest block of a sum of products
  int64_t keys = 0;  ///< of attention

  /// Besides the arena.
  int64_t bytes() const {
    return block * static_cast<int64_t>(8 * sizeof(float) + sizeof(int64_t)) + keys * 4;
  }
};

/// Statements that make the call of `launch`, whose arguments `address` gives as `char *`. Functions that
/// they need are added to `helpers` (helperText). Sums are in the order of the processor's kernels for
/// products, which multiply and add at once (fma). Throws kedge::Error for a call that has no form in C here.
std::string libraryText(const rt::Launch &launch, const std::vector<std::string> &address, Helpers &helpers);

/// These functions with those that they call.
std::string helperText(const Helpers &helpers);

} // namespace kedge::exporter
