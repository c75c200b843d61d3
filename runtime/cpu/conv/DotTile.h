// Dot products of rows with rows; compiled for each instruction set like GemmTile. Includes only <cstdint>,
// for the reason given in GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

constexpr int kMostDotRows = 8;         ///< left rows of any tile
constexpr int kDotColumns = 4;          ///< right rows of a tile
constexpr int64_t kLeastDotLength = 16; ///< of rows: a vector of any instruction set

template <typename T> struct DotTile {
  int rows;
  /// sums[r * sumPitch + c] += sum over i < length of left[r * leftPitch + i] * right[c * rightPitch + i],
  /// for r < rows, c < columns. length >= kLeastDotLength; nothing behind the rows is read.
  void (*run)(int64_t length, const T *left, int64_t leftPitch, const T *right, int64_t rightPitch, T *sums,
              int64_t sumPitch, int rows, int columns);
};

template <typename T> const DotTile<T> &dotTile();

DotTile<float> dotTileAvx512F32();
DotTile<double> dotTileAvx512F64();
DotTile<float> dotTileAvx2F32();
DotTile<double> dotTileAvx2F64();
DotTile<float> dotTileSve256F32();
DotTile<double> dotTileSve256F64();
DotTile<float> dotTileBaseF32();
DotTile<double> dotTileBaseF64();

} // namespace kedge::rt::cpu
