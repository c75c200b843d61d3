// Turns a tile of fp32 weights, rows of 32, into two panels of bf16 for the tile of AMX: the weights rounded
// to nearest even, and what that left. Their products with a third panel add up to those of the weights, to
// 2^-17. Includes only <cstdint>, for the reason given in GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

/// Halves below the smallest normal number become zero.
struct WeightPanels {
  /// Panels of B whose k are the rows, an even number of them. `rest` may begin where the weights do.
  void (*pairs)(uint16_t *dst, uint16_t *rest, const float *weights, int64_t rows);
  /// 32 steps of k, the columns, of panels of A with those rows.
  void (*runs)(uint16_t *dst, uint16_t *rest, const float *weights, int64_t rows);
};

/// Null pointers if the compiler lacks these instructions.
extern const WeightPanels kWeightPanelsAmx;

} // namespace kedge::rt::cpu
