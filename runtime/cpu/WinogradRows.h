// Transforms of F(2x2, 3x3): four results of a 3x3 convolution from a tile of 4x4 by 16 multiplications instead of 36
// (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, section 4.1). Neighbouring tiles are the
// lanes of a vector. Compiled for each instruction set like GemmTile; includes only <cstdint>, for the reason given there.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

constexpr int kWinogradProducts = 16; ///< elements of a transformed tile, each of which is a matrix product of its own
constexpr int64_t kBehindWinograd = 32; ///< elements behind the last one that a function may read, or write

struct WinogradRows {
  /// Tiles [0, tiles) of a row along the width: to[j * plane + t] for j < 4, from line[2 t] to line[2 t + 3].
  void (*along)(const float *line, int64_t tiles, float *to, int64_t plane);
  /// Tiles [0, tiles), whose rows `along` has transformed: those with even numbers at even[j * plane + t], and from t +
  /// `width` on the third. Sets to[(4 i + j) * matrix + t].
  void (*down)(const float *even, const float *odd, int64_t plane, int64_t width, int64_t tiles, float *to, int64_t matrix);
  /// Results of tiles [0, tiles) from their 16 sums at sums[k * matrix + t]: upper[2 t] and the next one, and the same of
  /// lower, which is the row below.
  void (*results)(const float *sums, int64_t matrix, int64_t tiles, float bias, float *upper, float *lower);
  /// Transforms 3x3 filters of `depth` channels for a panel of `width` rows: to[k * matrix + d * width + row] from
  /// taps[(9 d + t) * width + row], or with `flips` from tap 8 - t.
  void (*filters)(const float *taps, int64_t width, bool flips, int64_t depth, float *to, int64_t matrix);
};

const WinogradRows &winogradRows();

WinogradRows winogradRowsAvx512();
WinogradRows winogradRowsAvx2();
WinogradRows winogradRowsBase();

} // namespace kedge::rt::cpu
