// Transforms of F(2x2, 3x3): four results of a 3x3 convolution from a tile of 4x4 by 16 multiplications
// instead of 36 (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, section 4.1): y =
// A^T ((G w G^T) (B^T d B)) A, where the elements of two transformed tiles are multiplied. Its derivative by
// w is G^T ((A g A^T) (B^T d B)) G. Compiled for each instruction set like GemmTile; includes only <cstdint>,
// for the reason given there.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

constexpr int kWinogradProducts =
    16; ///< elements of a transformed tile, each of which is a matrix product of its own
constexpr int64_t kBehindWinograd = 32; ///< elements behind the last one that a function may read, or write

/// For Y, and dX as a convolution of dY: the lanes of a vector are tiles, and their sums go over channels.
struct WinogradRows {
  /// Tiles [0, tiles) of a row along the width: to[j * plane + t] for j < 4, from line[2 t] to line[2 t + 3].
  void (*along)(const float *line, int64_t tiles, float *to, int64_t plane);
  /// Tiles [0, tiles), whose rows `along` has transformed: those with even numbers at even[j * plane + t],
  /// and from t + `width` on the third. Sets to[(4 i + j) * matrix + t].
  void (*down)(const float *even, const float *odd, int64_t plane, int64_t width, int64_t tiles, float *to,
               int64_t matrix);
  /// Results of tiles [0, tiles) from their 16 sums at sums[k * matrix + t]: upper[2 t] and the next one, and
  /// the same of lower, which is the row below.
  void (*results)(const float *sums, int64_t matrix, int64_t tiles, float bias, float *upper, float *lower);
  /// Transforms 3x3 filters of `depth` channels for a panel of `width` rows: to[k * matrix + d * width + row]
  /// from taps[(9 d + t) * width + row], or with `flips` from tap 8 - t.
  void (*filters)(const float *taps, int64_t width, bool flips, int64_t depth, float *to, int64_t matrix);
};

/// For dW, whose sums go over tiles: the lanes of a vector are channels, or filters. Positions of a row
/// follow each other, `lanes` elements each. The last vector of a tile may lie over what follows it, which is
/// written later.
struct WinogradLanes {
  /// B^T d B of the 4x4 places of each tile of a row of tiles: to[k * matrix + t * lanes + lane], from rows
  /// of `pitch` elements.
  void (*source)(const float *rows, int64_t pitch, int64_t tiles, int64_t lanes, float *to, int64_t matrix);
  /// A g A^T of the 2x2 gradients of each tile.
  void (*gradient)(const float *rows, int64_t pitch, int64_t tiles, int64_t lanes, float *to, int64_t matrix);
  /// G^T m G, where element (k, lane) of m is the sum over p < parts of sums[p * part + k * matrix + lane]:
  /// taps[t * pitch + lane].
  void (*taps)(const float *sums, int64_t matrix, int64_t part, int64_t parts, int64_t lanes, float *taps,
               int64_t pitch);
};

const WinogradRows &winogradRows();
const WinogradLanes &winogradLanes();

WinogradRows winogradRowsAvx512();
WinogradRows winogradRowsAvx2();
WinogradRows winogradRowsSve256();
WinogradRows winogradRowsBase();
WinogradLanes winogradLanesAvx512();
WinogradLanes winogradLanesAvx2();
WinogradLanes winogradLanesSve256();
WinogradLanes winogradLanesBase();

} // namespace kedge::rt::cpu
