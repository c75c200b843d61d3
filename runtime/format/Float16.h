// The two 16-bit float types, for storage only: widened when loaded, rounded to nearest even when stored.
#pragma once
#include <bit>
#include <cstdint>

namespace kedge::rt {

struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  BFloat16(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u)
      bits = static_cast<uint16_t>((word >> 16) | 0x40u); // remains a NaN when its payload is cut
    else
      bits = static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

/// IEEE binary16.
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  Float16(float value) : bits(round(value)) {}
  operator float() const { return widen(bits); }

private:
  static float widen(uint16_t half) {
    uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
    uint32_t magnitude = half & 0x7fffu;
    if (magnitude >= 0x7c00u) // infinity, NaN
      return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    if (magnitude >= 0x0400u) // normal: exponent bias 15 -> 127
      return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
    float small = static_cast<float>(magnitude) * 0x1p-24f;
    return sign ? -small : small;
  }
  static uint16_t round(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value);
    uint16_t sign = static_cast<uint16_t>((word >> 16) & 0x8000u);
    uint32_t magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
      return sign | 0x7e00u | static_cast<uint16_t>((magnitude >> 13) & 0x3ffu);
    if (magnitude >= 0x477ff000u) // 65520 and above round to infinity
      return sign | 0x7c00u;
    if (magnitude < 0x38800000u) { // below 2^-14: adding 0.5 rounds to a multiple of 2^-24
      float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3f000000u);
    }
    uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return sign | static_cast<uint16_t>((rounded - (112u << 23)) >> 13);
  }
};

static_assert(sizeof(BFloat16) == 2 && sizeof(Float16) == 2);

} // namespace kedge::rt
