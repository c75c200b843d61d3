// Upper limit for the size of a tensor: beyond any machine, but low enough that sums of many sizes fit 64
// bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>

namespace kedge {

inline constexpr int64_t kMostElements = int64_t(1) << 44;
inline constexpr size_t kMostAxes = 64;

/// The product of the sizes; INT64_MAX if it does not fit 64 bits or a factor is negative.
template <typename Shape> int64_t saturatedCount(const Shape &shape) {
  int64_t count = 1;
  bool overflows = false;
  for (int64_t size : shape) {
    if (size == 0)
      return 0;
    overflows |= size < 0 || __builtin_mul_overflow(count, size, &count);
  }
  return overflows ? INT64_MAX : count;
}

/// Why a tensor cannot have this shape; empty if it can.
template <typename Shape> std::string tooLarge(const Shape &shape) {
  if (shape.size() > kMostAxes)
    return fmt::format("it has {} dimensions, expected at most {}", shape.size(), kMostAxes);
  if (saturatedCount(shape) > kMostElements)
    return fmt::format("it has more than 2^44 elements, which no machine holds");
  return "";
}

} // namespace kedge
