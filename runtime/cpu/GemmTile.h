// The innermost loop of every product: one tile of C from packed panels of A and B, compiled once for each
// instruction set (GemmTileAvx512.cpp, GemmTileAvx2.cpp, GemmTileBase.cpp) and chosen at run time.
// No standard headers beyond <cstdint>: an inline function compiled here with wide registers could replace
// the portable one at link time.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

/// Panels: A is [k][panelRows(rows)], B is [k][columns], both packed, 64-byte aligned, zero-padded.
template <typename T> struct GemmTile {
  int rows;    ///< most rows of a tile
  int columns; ///< columns of a tile
  int step;    ///< rows of the smallest tile; rows = 3 * step
  /// C[m x n] = A B (+ bias[n]) (+ C when accumulate); m <= rows, n <= columns. Sums run over k in order, one
  /// fused multiply-add a term where the machine has it.
  void (*run)(int64_t k, const T *a, const T *b, T *c, int64_t ldc, int m, int n, bool accumulate,
              const T *bias);

  int panelRows(int64_t m) const { return m > 2 * step ? rows : m > step ? 2 * step : step; }
};

/// The tile for this machine.
template <typename T> const GemmTile<T> &gemmTile();

GemmTile<float> gemmTileAvx512F32();
GemmTile<double> gemmTileAvx512F64();
GemmTile<float> gemmTileAvx2F32();
GemmTile<double> gemmTileAvx2F64();
GemmTile<float> gemmTileBaseF32();
GemmTile<double> gemmTileBaseF64();

} // namespace kedge::rt::cpu
