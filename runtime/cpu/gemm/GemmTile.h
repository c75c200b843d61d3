// The innermost loop of every product: computes one tile of C from packed panels of A and B.
// Compiled for each instruction set (GemmTileAvx512.cpp, GemmTileAvx2.cpp, GemmTileBase.cpp)
// and chosen at run time. Includes only <cstdint>: an inline function of another header,
// compiled here for wide registers, could replace the portable one when the program is linked.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

/// The type of the sums for panels of type E. uint16_t stands for bf16 as bits.
template <typename E> struct TileSum {
  using type = E;
};
template <> struct TileSum<uint16_t> {
  using type = float;
};

/// A number of f16 as the sum of two of bf16, which it is exactly. In a panel the first of 32 k's come first,
/// then the second.
struct F16Halves {
  uint16_t half[2];
};
template <> struct TileSum<F16Halves> {
  using type = float;
};

/// What panels of E are packed from, bf16 and f16 as bits.
template <typename E> struct PanelSource {
  using type = E;
};
template <> struct PanelSource<F16Halves> {
  using type = uint16_t;
};

/// How large parts of a product are, so that packed panels stay in the L2.
struct GemmSizes {
  int64_t bytesA = 720 << 10, bytesB = 3456 << 10; ///< of a block, at most
  int64_t rows = 480, columns = 2304;              ///< of a block, at most
  int64_t rowBytes = 256 << 10;                    ///< of panels of B that pass by while a panel of A stays
  double regionFlops = 16e6;                       ///< about 0.2 ms: see GemmTeam
};

/// Tiles side by side: one panel of A with the panels of B that follow each other. What is written is as in
/// GemmTile::run, or the sums rounded to bf16.
template <typename E> struct GemmTileRow {
  using Sum = typename TileSum<E>::type;
  int64_t k = 0; ///< a multiple of `depth`
  const E *a = nullptr, *b = nullptr;
  int rows = 0;
  int64_t columns = 0; ///< of all tiles
  Sum *c = nullptr;    ///< with `rounded`: earlier sums, read if accumulate
  int64_t ldc = 0;
  bool accumulate = false;
  const Sum *bias = nullptr; ///< of all columns
  const E *ahead = nullptr;  ///< what the next rows read, to be fetched into the L2 meanwhile
  int64_t aheadElements = 0; ///< or some more
  uint16_t *rounded = nullptr;
  int64_t roundedStride = 0;
};

/// The sum of a tile of a chain: k terms in parts of `chain`, at most 64, which divides k; `backwards`: from
/// the last part to the first. `accumulate`: they are added to C, one after the other.
struct GemmChain {
  int64_t k, chain;
  bool backwards, accumulate;
};

/// Panels are packed, 64-byte aligned and padded with zeros. A is [k][panelRows(rows)], B is [k][columns].
template <typename E> struct GemmTile {
  using Sum = typename TileSum<E>::type;
  using Source = typename PanelSource<E>::type;
  /// Writes the panel of that width from the elements (i, p) at src[i * rowStride + p
  /// * columnStride], i < lanes <= width, p < k. k is padded to a multiple of `depth`.
  using Pack = void (*)(E *dst, int64_t width, const Source *src, int64_t rowStride, int64_t columnStride,
                        int64_t lanes, int64_t k);

  int rows;    ///< rows of a tile, at most
  int columns; ///< columns of a tile
  int step;    ///< rows of the smallest tile; `rows` is 2 or 3 times this
  /// C[m x n] = A B (+ bias[n]) (+ C if accumulate); m <= rows, n <= columns; k is a multiple of
  /// `depth`. Adds in the order of k, with one fused multiply-add for each term if the machine has it.
  void (*run)(int64_t k, const E *a, const E *b, Sum *c, int64_t ldc, int m, int n, bool accumulate,
              const Sum *bias);
  /// Writes C[m x n] = ((P + Q) + R) + ..., where P, Q, R are the parts of a chain. Each has the bits of
  /// `run`. Null where `run` is not of floats.
  void (*runChain)(const GemmChain &chain, const E *a, const E *b, Sum *c, int64_t ldc, int m,
                   int n) = nullptr;
  int depth = 1; ///< how many k the machine takes in one step; panels of bf16 interleave that many
  int64_t mostK = (sizeof(E) < 4 ? 1536 : 2048) / static_cast<int64_t>(sizeof(E)); ///< limit for a panel
  Pack packA = nullptr, packB = nullptr; ///< set if panels are not [k][width]
  /// Set if four whole panels, whose lanes are side by side in the source, are packed faster together; rows
  /// of the source are `stride` apart.
  using PackFour = void (*)(E *dst, const Source *src, int64_t stride, int64_t k);
  PackFour packFourA = nullptr, packFourB = nullptr;
  /// Set if tiles side by side, at most `mostInRow`, cost less than one by one.
  void (*runRow)(const GemmTileRow<E> &row) = nullptr;
  int mostInRow = 1;
  GemmSizes sizes = {};
  /// Set if `run` needs registers that are set up before and given back after several tiles: what stays in
  /// use is saved at every switch of threads. runRow does both itself.
  void (*enter)() = nullptr, (*leave)() = nullptr;

  int panelRows(int64_t m) const { return m > 2 * step ? rows : m > step ? 2 * step : step; }
  int64_t panelDepth(int64_t k) const { return (k + depth - 1) / depth * depth; }
};

/// While it lives, `run` of the tile may be called.
template <typename E> class TileInUse {
public:
  explicit TileInUse(const GemmTile<E> &tile) : leave_(tile.leave) {
    if (tile.enter)
      tile.enter();
  }
  ~TileInUse() {
    if (leave_)
      leave_();
  }
  TileInUse(const TileInUse &) = delete;
  TileInUse &operator=(const TileInUse &) = delete;

private:
  void (*leave_)();
};

/// The tile for this machine.
template <typename E> const GemmTile<E> &gemmTile();
/// Whether gemmTile<uint16_t> can run here. If not, products of bf16 use the float tile.
bool hasBf16Tile();
/// Whether products of f16 with k terms run in the tile of F16Halves. Not for some m and n alone: parts of a
/// product have its bits.
bool hasF16Tile(int64_t k);

GemmTile<float> gemmTileAvx512F32();
GemmTile<double> gemmTileAvx512F64();
GemmTile<float> gemmTileAvx2F32();
GemmTile<double> gemmTileAvx2F64();
GemmTile<float> gemmTileSve256F32();
GemmTile<double> gemmTileSve256F64();
GemmTile<float> gemmTileBaseF32();
GemmTile<double> gemmTileBaseF64();
/// Constants, because plans for all machines read their sizes. `run` is null if the compiler lacks these
/// instructions.
extern const GemmTile<uint16_t> kGemmTileAvx512Bf16, kGemmTileAmx;
extern const GemmTile<F16Halves> kGemmTileAmxF16;
#if defined(__aarch64__)
/// Its workspaces are never larger than those of kGemmTileAvx512Bf16, which plans read.
extern const GemmTile<uint16_t> kGemmTileNeonBf16;
#endif

} // namespace kedge::rt::cpu
