// Element types without arithmetic: floats of 8 and fewer bits, integers of 4 and 2 bits. Each
// element is held as a code in a byte of its own: the value of an integer, or the bits of a float.
#pragma once
#include "lib/Model/ModelTypes.h"
#include <optional>

namespace kedge::model {

bool isNarrow(ElementType);

/// The range of an integer type of 4 or 2 bits; nullopt for any other type.
struct NarrowInteger {
  int low, high;
};
std::optional<NarrowInteger> narrowInteger(ElementType);

/// Sign, exponent and mantissa bits; nullopt for any other type, and for float8e8m0, which has an exponent
/// only.
struct NarrowFloat {
  int exponentBits, mantissaBits, bias;
  int largest;  ///< code of the largest finite number
  int nan;      ///< -1: there is none
  int infinity; ///< code; -1: there is none
  bool signedZero;
};
std::optional<NarrowFloat> narrowFloat(ElementType);

/// The number that a code stands for.
double narrowValue(ElementType, uint8_t code);

/// The codes of the tensor's elements, one byte each.
std::vector<uint8_t> narrowCodes(const Tensor &);

} // namespace kedge::model
