// --stage REGEX=K.
#pragma once
#include "runtime/io/NameRule.h"
#include <cstdint>

namespace kedge::pipeline {

/// The stage of the modules that REGEX names, from 0.
struct StageRule : rt::NameRule {
  int64_t stage = 0;

  /// Throws std::runtime_error.
  static StageRule parse(const std::string &text);
};

} // namespace kedge::pipeline
