// The two 8-bit float types of fp8 products. bf16 represents their values exactly.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

namespace kedge::rt {

/// 4 bits of exponent, 3 of fraction, no infinity; the largest number is 448.
struct Float8E4M3 {
  uint8_t bits = 0;

  constexpr operator float() const {
    const uint32_t magnitude = bits & 0x7fu, sign = static_cast<uint32_t>(bits & 0x80u) << 24;
    if (magnitude == 0x7f)
      return std::numeric_limits<float>::quiet_NaN();
    // Shifted into a float, the exponent is too small by 120, also for subnormal numbers.
    return std::bit_cast<float>(magnitude << 20 | sign) * 0x1p120f;
  }
};

/// 5 bits of exponent, 2 of fraction; the largest finite number is 57344.
struct Float8E5M2 {
  uint8_t bits = 0;

  constexpr operator float() const {
    const uint32_t magnitude = bits & 0x7fu, sign = static_cast<uint32_t>(bits & 0x80u) << 24;
    if (magnitude > 0x7c)
      return std::numeric_limits<float>::quiet_NaN();
    if (magnitude == 0x7c)
      return sign ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
    return std::bit_cast<float>(magnitude << 21 | sign) * 0x1p112f;
  }
};

} // namespace kedge::rt
