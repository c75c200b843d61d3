// The innermost loop of products of 8-bit integers; compiled for each instruction set like GemmTile. Includes
// only <cstdint>, for the reason given there.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

constexpr int kIntegerColumns = 16; ///< of a panel

struct IntegerTile {
  /// sums[i][j] += A B modulo 2^32, for some rows i and j < kIntegerColumns. A is [rows][k], its rows
  /// `stride` apart; B is [k / depth][kIntegerColumns][depth]; k is a multiple of `depth`.
  using Rows = void (*)(int64_t k, const int8_t *a, int64_t stride, const int8_t *b, uint32_t *sums);
  Rows four, one; ///< rows at a time
  int depth;      ///< how many k the machine takes in one step, 1 or 4
};

/// The variant for this machine.
const IntegerTile &integerTile();

IntegerTile integerTileAvx512();
IntegerTile integerTileAvx2();
IntegerTile integerTileNeonDot();
IntegerTile integerTileSve256();
IntegerTile integerTileBase();

} // namespace kedge::rt::cpu
