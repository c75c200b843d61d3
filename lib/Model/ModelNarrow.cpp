#include "lib/Model/NarrowTypes.h"
#include "lib/Support/Error.h"
#include <cmath>

namespace kedge::model {

bool isNarrow(ElementType type) { return type >= ElementType::Float8E4M3FN && type <= ElementType::Int2; }

std::optional<NarrowInteger> narrowInteger(ElementType type) {
  switch (type) {
  case ElementType::Int4:
    return NarrowInteger{-8, 7};
  case ElementType::UInt4:
    return NarrowInteger{0, 15};
  case ElementType::Int2:
    return NarrowInteger{-2, 1};
  case ElementType::UInt2:
    return NarrowInteger{0, 3};
  default:
    return std::nullopt;
  }
}

std::optional<NarrowFloat> narrowFloat(ElementType type) {
  switch (type) {
  case ElementType::Float8E4M3FN:
    return NarrowFloat{4, 3, 7, 0x7e, 0x7f, -1, true};
  case ElementType::Float8E4M3FNUZ:
    return NarrowFloat{4, 3, 8, 0x7f, 0x80, -1, false};
  case ElementType::Float8E5M2:
    return NarrowFloat{5, 2, 15, 0x7b, 0x7f, 0x7c, true};
  case ElementType::Float8E5M2FNUZ:
    return NarrowFloat{5, 2, 16, 0x7f, 0x80, -1, false};
  case ElementType::Float4E2M1:
    return NarrowFloat{2, 1, 1, 0x7, -1, -1, true};
  default:
    return std::nullopt;
  }
}

double narrowValue(ElementType type, uint8_t code) {
  if (narrowInteger(type))
    return narrowInteger(type)->low < 0 ? static_cast<int8_t>(code) : code;
  if (type == ElementType::Float8E8M0)
    return code == 0xff ? NAN : std::ldexp(1.0, code - 127);
  NarrowFloat format = *narrowFloat(type);
  int signBit = 1 << (format.exponentBits + format.mantissaBits), magnitude = code & (signBit - 1);
  if (code == format.nan || (format.signedZero && magnitude == format.nan))
    return NAN;
  double sign = code & signBit ? -1 : 1;
  if (magnitude == format.infinity)
    return sign * INFINITY;
  if (format.infinity >= 0 && magnitude > format.infinity)
    return NAN;
  int exponent = magnitude >> format.mantissaBits, fraction = magnitude & ((1 << format.mantissaBits) - 1);
  double value = exponent == 0 ? std::ldexp(fraction, 1 - format.bias - format.mantissaBits)
                               : std::ldexp(fraction + (1 << format.mantissaBits),
                                            exponent - format.bias - format.mantissaBits);
  return sign * value;
}

std::vector<uint8_t> narrowCodes(const Tensor &tensor) {
  Bytes bytes = tensor.bytes();
  unsigned bits = dtypeBits(tensor.dtype);
  if (bytes.size != tensor.byteSize())
    fail("{}: {} has {} bytes; expected {}", tensor.path, tensor.describe(), bytes.size, tensor.byteSize());
  std::vector<uint8_t> codes(static_cast<size_t>(tensor.numElements()));
  bool isSigned = narrowInteger(tensor.dtype) && narrowInteger(tensor.dtype)->low < 0;
  for (size_t k = 0; k < codes.size(); ++k) {
    unsigned perByte = 8 / bits;
    unsigned code = (bytes.data[k / perByte] >> (k % perByte * bits)) & ((1u << bits) - 1);
    codes[k] = static_cast<uint8_t>(isSigned && code >> (bits - 1) ? code - (1u << bits) : code);
  }
  return codes;
}

} // namespace kedge::model
