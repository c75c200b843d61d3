// Converts runs of codes in few bits to float; compiled for each instruction set
// like GemmTile. Includes only <cstdint>, for the reason given in GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

struct QuantizedRows {
  /// `count` values of a flattened weight from element `first` on: table[code] * scale. `table` has 16
  /// entries. A byte holds two codes, the even element in the high nibble; 1 << blockBits elements share a
  /// scale.
  void (*four)(const float *table, const uint8_t *codes, const float *scales, int blockBits, int64_t first,
               int64_t count, float *to);
  /// code * scale. Scales are `scaleStep` elements apart: 1, or 0 if all elements share one.
  void (*eight)(const int8_t *codes, const float *scales, int64_t scaleStep, int64_t count, float *to);
};

/// The variant for this machine.
const QuantizedRows &quantizedRows();

QuantizedRows quantizedRowsAvx512();
QuantizedRows quantizedRowsAvx2();
QuantizedRows quantizedRowsSve256();
QuantizedRows quantizedRowsBase();

} // namespace kedge::rt::cpu
