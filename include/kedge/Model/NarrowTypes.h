// Element types that no arithmetic has: floats of 8 and fewer bits, integers of 4 and 2. An element is a code in a byte
// of its own: an integer's value, or the bits of a float.
#pragma once
#include "kedge/Model/ModelTypes.h"
#include <optional>

namespace kedge::model {

bool isNarrow(DType);

/// Range of an integer of 4 or 2 bits; nullopt for all else.
struct NarrowInteger {
  int low, high;
};
std::optional<NarrowInteger> narrowInteger(DType);

/// Sign, exponent and mantissa; nullopt for all else (float8e8m0, too, which is an exponent alone).
struct NarrowFloat {
  int exponentBits, mantissaBits, bias;
  int largest;      ///< code of the largest finite number
  int nan;          ///< -1: there is none
  int infinity;     ///< code; -1: there is none
  bool signedZero;
};
std::optional<NarrowFloat> narrowFloat(DType);

/// The number that a code stands for.
double narrowValue(DType, uint8_t code);

/// The tensor's elements, a byte each.
std::vector<uint8_t> narrowCodes(const Tensor &);

} // namespace kedge::model
