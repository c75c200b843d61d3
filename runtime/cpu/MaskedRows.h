// Copies rows with some elements replaced by zeros, on instruction sets with
// masked loads. Includes only <cstdint>, for the reason given in GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

constexpr int kMaskedLanes = 32;

/// Copies `rows` rows of 32 floats, `fromStep` and `toStep` apart. to[j] = from[j] if bit j of the mask
/// is set; other elements of `from` are not read. They become 0 or, with `joins`, keep their value.
using MaskedRows = void (*)(int64_t rows, const float *from, int64_t fromStep, uint32_t mask, float *to, int64_t toStep, bool joins);

/// Null if the machine has no masked loads.
MaskedRows maskedRows();
MaskedRows maskedRowsAvx512();

} // namespace kedge::rt::cpu
