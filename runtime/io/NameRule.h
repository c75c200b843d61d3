// REGEX and REGEX=VALUE of options: what holds for things of some names.
#pragma once
#include "runtime/io/NamePattern.h"
#include <utility>

namespace kedge::rt {

struct NameRule {
  std::string given; ///< with the value
  NamePattern names;

  /// A REGEX. Throws RuntimeError.
  static NameRule parse(const std::string &text);
  /// REGEX=VALUE, at the last '='; the value is empty where there is none. Throws RuntimeError.
  static std::pair<NameRule, std::string> split(const std::string &text);

  const std::string &text() const { return given; }
};

} // namespace kedge::rt
