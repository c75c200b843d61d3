// Turns a tile of fp32 weights, rows of 32, into panels of bf16 for the tile of AMX. Includes only <cstdint>,
// for the reason given in GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

/// Rounds to nearest even; a weight below the smallest normal number becomes zero.
struct WeightPanels {
  /// A panel of B whose k are the rows, an even number of them.
  void (*pairs)(uint16_t *dst, const float *weights, int64_t rows);
  /// 32 steps of k, the columns, of a panel of A with those rows.
  void (*runs)(uint16_t *dst, const float *weights, int64_t rows);
};

/// Null pointers if the compiler lacks these instructions.
extern const WeightPanels kWeightPanelsAmx;

} // namespace kedge::rt::cpu
