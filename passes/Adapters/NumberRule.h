// --lora-rank-pattern REGEX=NUMBER, --lora-alpha-pattern REGEX=NUMBER.
#pragma once
#include "runtime/io/NameRule.h"

namespace kedge::adapters {

/// A number for modules of some names.
struct NumberRule : rt::NameRule {
  double number = 0;

  /// Throws std::runtime_error.
  static NumberRule parse(const std::string &text);
};

} // namespace kedge::adapters
