// What the quantised kernels share.
#pragma once
#include "runtime/calls/Call.h"
#include <algorithm>

namespace kedge::rt::cpu {

struct IntegerRange {
  double low, high;
  double clamp(double value) const { return std::clamp(value, low, high); }
};

/// Of i8, u8, i16, u16; an error for others.
IntegerRange integerRange(const LibraryCall &call, DType type);

} // namespace kedge::rt::cpu
