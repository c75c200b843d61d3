// Divisors of a number: sizes of a mesh's axes and of micro-batches, and numbers that would do where one does
// not.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kedge {

/// From 1 to `number`, which is above 0.
inline std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t size = 1; size <= number; ++size)
    if (number % size == 0)
      divisors.push_back(size);
  return divisors;
}

/// "1, 2, 3, 6": the numbers of equal parts that `size` can be cut into.
inline std::string divisorsText(int64_t size) {
  std::string text;
  for (const int64_t parts : divisorsOf(size))
    text += (text.empty() ? "" : ", ") + std::to_string(parts);
  return text;
}

} // namespace kedge
