// Rows of which some elements are zeros instead, for the instruction set that loads them so; behind it only <cstdint>, as in
// GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

constexpr int kMaskedLanes = 32;

/// `rows` rows of 32 floats, `fromStep` and `toStep` apart: to[j] = from[j] where bit j of the mask is set, and nothing else is
/// read; elsewhere 0, or what stands there where `joins`.
using MaskedRows = void (*)(int64_t rows, const float *from, int64_t fromStep, uint32_t mask, float *to, int64_t toStep, bool joins);

/// Null where the machine has no such loads.
MaskedRows maskedRows();
MaskedRows maskedRowsAvx512();

} // namespace kedge::rt::cpu
