// The values that an input with indices may have.
#pragma once
#include "runtime/io/Error.h"
#include "runtime/program/Program.h"
#include <algorithm>

namespace kedge::rt {

inline bool inBounds(const InputSpec &input, int64_t value) {
  if ((!input.lo || value >= *input.lo) && (!input.hi || value <= *input.hi))
    return true;
  return std::find(input.allowed.begin(), input.allowed.end(), value) != input.allowed.end();
}

/// "0..255, or -100"
inline std::string boundsText(const InputSpec &input) {
  std::string text = fmt::format("{}..{}", input.lo ? std::to_string(*input.lo) : "",
                                 input.hi ? std::to_string(*input.hi) : "");
  for (int64_t value : input.allowed)
    text += fmt::format(", or {}", value);
  return text;
}

} // namespace kedge::rt
