// --qat REGEX=TYPE.
#pragma once
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "runtime/io/NameRule.h"

namespace kedge::adapters {

/// The integers that weights of some names are rounded to while they train.
struct FakeQuantizeRule : rt::NameRule {
  tune::Format format = tune::Format::Int8;

  /// Throws std::runtime_error.
  static FakeQuantizeRule parse(const std::string &text);
};

/// The integers of a grid; a symmetric one leaves the least of its type out.
struct IntegerGrid {
  int64_t low, high;
};
IntegerGrid gridOf(tune::Format format);

} // namespace kedge::adapters
