// --quantize REGEX=FORMAT.
#pragma once
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "runtime/io/NameRule.h"

namespace kedge::adapters {

/// The format that frozen weights of some names are kept in.
struct QuantizeRule : rt::NameRule {
  tune::Format format = tune::Format::NF4;

  /// Throws std::runtime_error.
  static QuantizeRule parse(const std::string &text);
};

} // namespace kedge::adapters
