// --train-tokens REGEX=ROWS.
#pragma once
#include "runtime/io/NameRule.h"
#include <cstdint>
#include <vector>

namespace kedge::adapters {

/// Rows of tables of some names.
struct TokenRule : rt::NameRule {
  std::vector<int64_t> rows;

  /// Throws std::runtime_error.
  static TokenRule parse(const std::string &text);
};

} // namespace kedge::adapters
