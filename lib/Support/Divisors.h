// Numbers that would do where a number of ranks does not.
#pragma once
#include <cstdint>
#include <string>

namespace kedge {

/// "1, 2, 3, 6": the numbers of equal parts that `size` can be cut into.
inline std::string divisorsText(int64_t size) {
  std::string text;
  for (int64_t parts = 1; parts <= size; ++parts)
    if (size % parts == 0)
      text += (text.empty() ? "" : ", ") + std::to_string(parts);
  return text;
}

} // namespace kedge
