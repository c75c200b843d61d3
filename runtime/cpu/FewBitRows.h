// Runs of codes in few bits to float, compiled once for each instruction set beside GemmTile. Only <cstdint> behind it, as in
// GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

struct FewBitRows {
  /// `count` values from element `first` of a flattened weight on: entries of `table`, of 16, by codes of two a byte, the even
  /// element in the high nibble, times the scale of 1 << blockBits elements.
  void (*four)(const float *table, const uint8_t *codes, const float *scales, int blockBits, int64_t first, int64_t count,
               float *to);
  /// Codes times scales that lie `scaleStep` apart: 0 or 1.
  void (*eight)(const int8_t *codes, const float *scales, int64_t scaleStep, int64_t count, float *to);
};

/// For this machine.
const FewBitRows &fewBitRows();

FewBitRows fewBitRowsAvx512();
FewBitRows fewBitRowsAvx2();
FewBitRows fewBitRowsBase();

} // namespace kedge::rt::cpu
