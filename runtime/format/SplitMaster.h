// fp32 numbers as a bf16 number and 8 bits of what rounding took: the arithmetic of train.split and
// train.join.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace kedge::rt {

struct SplitNumber {
  uint16_t value = 0; ///< bf16
  int8_t residual = 0;
};

/// The nearest bf16 number, ties to even, as f32.
inline float roundedToBf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::isfinite(x) ? std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u) : x;
}

/// The exponent's bits of a bf16 number, those of 2^-100 at least.
inline uint32_t splitExponent(float value) {
  return std::max(std::bit_cast<uint32_t>(value) & 0x7f800000u, 27u << 23);
}

inline float joinedMaster(float value, float residual) {
  return std::fma(residual, std::bit_cast<float>(splitExponent(value)) * static_cast<float>(0x1p-8 / 127),
                  value);
}

inline SplitNumber splitMaster(float x) {
  const float value = roundedToBf16(x);
  const float inverse = std::bit_cast<float>((254u << 23) - splitExponent(value));
  float counted = std::nearbyint((x - value) * inverse * static_cast<float>(127 * 0x1p8));
  counted = counted < 127 ? counted : 127;
  counted = counted > -127 ? counted : -127;
  if (roundedToBf16(joinedMaster(value, counted)) != value)
    counted += counted > 0 ? -1 : 1;
  return {static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16), static_cast<int8_t>(counted)};
}

} // namespace kedge::rt
