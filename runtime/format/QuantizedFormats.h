// Weights in 4 and 8 bits in the format of bitsandbytes' CPU backend, and its dynamic 8-bit codes.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kedge::rt {

/// Those from UInt2 on are ONNX's: codes of a model's file, in blocks with a scale and maybe a zero point.
enum class QuantizedFormat : uint8_t { NF4, FP4, Int8, UInt2, UInt4, UInt8, Int4 };
enum class EncodedPart : uint8_t { Codes, Absmax, AbsmaxCodes, NestedAbsmax, Offset, ZeroPoints };

constexpr bool isOfOnnx(QuantizedFormat format) { return format >= QuantizedFormat::UInt2; }
/// Of a code of a format that is in files.
constexpr int bitsOf(QuantizedFormat format) {
  return format == QuantizedFormat::UInt2 ? 2 : format == QuantizedFormat::UInt8 ? 8 : 4;
}

inline constexpr int64_t kQuantizedBlock =
    64; ///< elements that share an absmax (the largest magnitude of a block)
inline constexpr int64_t kNestedBlock = 256; ///< absmaxes that share an absmax of their own

/// Which part of an encoded weight a state contains.
struct Encoding {
  QuantizedFormat format = QuantizedFormat::NF4;
  EncodedPart part = EncodedPart::Codes;
  bool doubled = false;       ///< absmaxes are in 8 bits, too (double quantisation)
  std::vector<int64_t> whole; ///< shape of the weight
  int axis = 0;      ///< int8: each slice along this axis has a scale; in files: along which axis blocks lie
  int zero = 0;      ///< in files: the zero point of all blocks, where there are none
  int64_t block = 0; ///< of nf4 and fp4 in files: elements that share an absmax

  /// Whether the model's file has the codes as they are here.
  bool isInFile() const { return block != 0 || isOfOnnx(format); }
};

/// The code of element `at` of packed ones, the first of a byte in its lowest bits.
int packedCode(QuantizedFormat format, const uint8_t *codes, int64_t at);

/// A matrix of codes in a file.
struct BlockedMatrix {
  QuantizedFormat format = QuantizedFormat::UInt4;
  int64_t rows = 0, columns = 0;
  int axis = 1;          ///< along which blocks lie
  int64_t block = 0;     ///< elements of a block
  int64_t zeroPitch = 0; ///< zero points of a row of blocks, with what fills its last byte
  int zero = 0;          ///< where there are no zero points
  const uint8_t *codes = nullptr, *zeroPoints = nullptr;
  const float *scales = nullptr;

  /// `count` values of row `row` from `column` on: (code - zero point) * scale.
  void unpack(int64_t row, int64_t column, int64_t count, float *to) const;
};

/// The 16 values of a 4-bit format, by code.
const std::array<float, 16> &fourBitTable(QuantizedFormat format);
/// The 256 values of the dynamic 8-bit code, in rising order.
const std::array<float, 256> &dynamicMap(bool isSigned);

/// Encodes `count` elements that start at the beginning of a block. A byte holds two codes, the even element
/// in the high nibble; each block has an absmax. `isEnd`: the tensor ends here. Either result may be null.
void encodeFourBits(QuantizedFormat format, const float *values, int64_t count, bool isEnd, uint8_t *codes,
                    float *absmax);

/// Absmaxes minus their mean, in dynamic codes.
struct NestedAbsmax {
  std::vector<uint8_t> codes;
  std::vector<float> absmax;
  float offset = 0;
};
NestedAbsmax nestAbsmax(std::span<const float> absmax);
/// Encodes one block of at most 256 values; returns its absmax.
float encodeDynamic(bool isSigned, std::span<const float> values, uint8_t *codes);

} // namespace kedge::rt
