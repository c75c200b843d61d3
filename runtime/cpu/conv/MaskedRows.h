// Copies rows with some elements replaced by zeros, on instruction sets with
// masked loads. Includes only <cstdint>, for the reason given in GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

constexpr int kMaskedLanes = 32; ///< of a row, at most

/// What the taps of a convolution read for as many places of a plane as a row has.
struct MaskedTaps {
  static constexpr int64_t kMost = 128;
  int64_t count;
  int64_t distance[kMost]; ///< from the first place to what the tap reads for it
  uint32_t mask[kMost];    ///< bits of the places whose neighbour exists
};

/// Writes `rows` rows of maskedLanes() elements, for one tap after the other beginning with `tap`, then for
/// the next plane. to[j] is the plane's neighbour of place j, or 0 or, with `joins`, what it was; elements
/// without a bit in the mask are not read. T: float, or uint16_t for 16 bits of any format.
template <typename T>
using MaskedRows = void (*)(const MaskedTaps &taps, int64_t tap, int64_t rows, const T *place, int64_t plane,
                            T *to, bool joins);

/// Null if the machine has no masked loads of T.
template <typename T> MaskedRows<T> maskedRows();
/// Elements of a row: as many as a tile of this machine has columns.
int maskedLanes();
MaskedRows<float> maskedRowsAvx2();
constexpr int kMaskedLanesAvx2 = 16;
MaskedRows<float> maskedRowsAvx512();
MaskedRows<uint16_t> narrowMaskedRowsAvx512();

} // namespace kedge::rt::cpu
