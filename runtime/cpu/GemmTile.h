// The innermost loop of every product: one tile of C from packed panels of A and B, compiled once for each
// instruction set (GemmTileAvx512.cpp, GemmTileAvx2.cpp, GemmTileBase.cpp) and chosen at run time.
// No standard headers beyond <cstdint>: an inline function compiled here with wide registers could replace
// the portable one at link time.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

/// What products of panels of E are summed in. uint16_t: the bits of a bf16.
template <typename E> struct TileSum { using type = E; };
template <> struct TileSum<uint16_t> { using type = float; };

/// Panels: A is [k][panelRows(rows)], B is [k][columns], both packed, 64-byte aligned, zero-padded.
template <typename E> struct GemmTile {
  using Sum = typename TileSum<E>::type;
  /// Element (i, p) of the source is src[i * rowStride + p * columnStride], i < lanes <= width, p < k. Writes the
  /// panel of that width, k filled up to a multiple of `depth`.
  using Pack = void (*)(E *dst, int64_t width, const E *src, int64_t rowStride, int64_t columnStride, int64_t lanes,
                        int64_t k);

  int rows;    ///< most rows of a tile
  int columns; ///< columns of a tile
  int step;    ///< rows of the smallest tile; rows = 2 or 3 * step
  /// C[m x n] = A B (+ bias[n]) (+ C when accumulate); m <= rows, n <= columns; k is a multiple of `depth`. Sums run
  /// over k in order, one fused multiply-add a term where the machine has it.
  void (*run)(int64_t k, const E *a, const E *b, Sum *c, int64_t ldc, int m, int n, bool accumulate,
              const Sum *bias);
  int depth = 1;       ///< k's that the machine takes in one step: panels of bf16 interleave that many
  int64_t mostK = 1536 / static_cast<int64_t>(sizeof(E)); ///< of a panel: for float one of B stays in an L1 of 48 KiB
  Pack packA = nullptr, packB = nullptr; ///< where panels are not [k][width]

  int panelRows(int64_t m) const { return m > 2 * step ? rows : m > step ? 2 * step : step; }
  int64_t panelDepth(int64_t k) const { return (k + depth - 1) / depth * depth; }
};

/// The tile for this machine.
template <typename E> const GemmTile<E> &gemmTile();
/// Whether gemmTile<uint16_t> runs here. Elsewhere products of bf16 run in the float tile.
bool hasBf16Tile();

GemmTile<float> gemmTileAvx512F32();
GemmTile<double> gemmTileAvx512F64();
GemmTile<float> gemmTileAvx2F32();
GemmTile<double> gemmTileAvx2F64();
GemmTile<float> gemmTileBaseF32();
GemmTile<double> gemmTileBaseF64();
/// Constants, as plans of all machines read their sizes; `run` is null where the compiler knows no such instructions.
extern const GemmTile<uint16_t> kGemmTileAvx512Bf16, kGemmTileAmx;

} // namespace kedge::rt::cpu
