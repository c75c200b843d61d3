// How large a tensor may be: far beyond any machine, and so small that counts and bytes of many fit 64 bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>

namespace kedge {

inline constexpr int64_t kMostElements = int64_t(1) << 44;
inline constexpr size_t kMostAxes = 64;

/// The product of the sizes; what does not fit 64 bits, or has a negative factor, counts as INT64_MAX.
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

/// Why a tensor of this shape cannot be; empty when it can.
template <typename Shape> std::string tooLarge(const Shape &shape) {
  if (shape.size() > kMostAxes)
    return fmt::format("it has {} dimensions, expected at most {}", shape.size(), kMostAxes);
  if (saturatedCount(shape) > kMostElements)
    return fmt::format("it has more than 2^44 elements, which no machine holds");
  return "";
}

} // namespace kedge
