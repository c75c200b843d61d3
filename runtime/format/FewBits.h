// Weights in 4 and 8 bits, as bitsandbytes' CPU backend codes them; 8-bit dynamic codes.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kedge::rt {

enum class FewBitFormat : uint8_t { NF4, FP4, Int8 };
enum class EncodedPart : uint8_t { Codes, Absmax, AbsmaxCodes, NestedAbsmax, Offset };

inline constexpr int64_t kFewBitBlock = 64;   ///< elements that share an absmax
inline constexpr int64_t kNestedBlock = 256;  ///< absmaxes that share one of theirs

/// Which part of an encoded weight a state holds.
struct Encoding {
  FewBitFormat format = FewBitFormat::NF4;
  EncodedPart part = EncodedPart::Codes;
  bool doubled = false;       ///< absmaxes are in 8 bits, too
  std::vector<int64_t> whole; ///< shape of the weight
  int axis = 0;               ///< of int8: whose slices have a scale each
};

/// The 16 values of a 4-bit format by code.
const std::array<float, 16> &fourBitTable(FewBitFormat format);
/// The 256 values of the dynamic 8-bit code, in rising order.
const std::array<float, 256> &dynamicMap(bool isSigned);

/// Two codes a byte, the even element in the high nibble, and an absmax a block: of `count` elements from the start of a block.
/// `isEnd`: the tensor ends here. Either result may be null.
void encodeFourBits(FewBitFormat format, const float *values, int64_t count, bool isEnd, uint8_t *codes, float *absmax);

/// Absmaxes less their mean in dynamic codes.
struct NestedAbsmax {
  std::vector<uint8_t> codes;
  std::vector<float> absmax;
  float offset = 0;
};
NestedAbsmax nestAbsmax(std::span<const float> absmax);
/// Codes of one block of at most 256 values; returns its absmax.
float encodeDynamic(bool isSigned, std::span<const float> values, uint8_t *codes);

} // namespace kedge::rt
