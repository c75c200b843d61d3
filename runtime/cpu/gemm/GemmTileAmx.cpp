// Products of bf16 in AMX's tile registers: 32 k's a step, 32 x 32 sums in four of them.
#include "runtime/cpu/gemm/GemmTile.h"
#if defined(__AMX_BF16__)
#include "runtime/cpu/gemm/PanelPack.inc"
#endif

namespace kedge::rt::cpu {

namespace {

constexpr int kSide = 16, kDepth = 32, kColumns = 2 * kSide;
// A sum is a chain of at most 64 of the machine's own sums of 32 terms, each two chains of 16.
constexpr int64_t kMostK = 64 * kDepth;
constexpr int kMostInRow = 8;
// Machines with these registers have an L2 of 2 MiB, and do ten times as many FLOPs in a region's time.
constexpr GemmSizes kSizes{
    .bytesA = 512 << 10, .bytesB = 4096 << 10, .rowBytes = 512 << 10, .regionFlops = 160e6};

} // namespace

#if defined(__AMX_BF16__)
namespace {

struct alignas(64) TileConfig {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

void setRegistersUp() {
  static constexpr TileConfig kConfig;
  _tile_loadconfig(&kConfig);
}
void giveRegistersBack() { _tile_release(); }

/// What is fetched into the L2 meanwhile, some lines a step of 32 k's.
struct Fetching {
  const uint16_t *next = nullptr;
  int lines = 0;

  void step() {
    for (int line = 0; line < lines; ++line, next += 32)
      _mm_prefetch(next, _MM_HINT_T1);
  }
};

/// sums[32 x 32] = A B (+ sums if `more`), of which `Tall` the second 16 rows and `Wide` the second 16
/// columns are wanted; rows lie `stride` apart.
template <bool Tall, bool Wide>
void sumTiles(int64_t k, const uint16_t *a, const uint16_t *b, float *sums, int64_t stride, bool more,
              Fetching &ahead) {
  const int64_t bytes = 4 * stride;
  float *right = sums + kSide, *low = sums + kSide * stride, *lowRight = low + kSide;
  if (more) {
    _tile_loadd(0, sums, bytes);
    if constexpr (Wide)
      _tile_loadd(1, right, bytes);
    if constexpr (Tall)
      _tile_loadd(2, low, bytes);
    if constexpr (Tall && Wide)
      _tile_loadd(3, lowRight, bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t p = 0; p < k; p += kDepth) {
    _tile_loadd(6, b, 4 * kColumns);
    _tile_loadd(4, a, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (Wide) {
      _tile_loadd(7, b + 2 * kSide, 4 * kColumns);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (Tall) {
      _tile_loadd(5, a + kSide * kDepth, 64);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (Wide)
        _tile_dpbf16ps(3, 5, 7);
    }
    ahead.step();
    a += (Tall ? 2 : 1) * kSide * kDepth;
    b += kColumns * kDepth;
  }
  _tile_stored(0, sums, bytes);
  if constexpr (Wide)
    _tile_stored(1, right, bytes);
  if constexpr (Tall)
    _tile_stored(2, low, bytes);
  if constexpr (Tall && Wide)
    _tile_stored(3, lowRight, bytes);
}

void sumTiles(int64_t k, const uint16_t *a, const uint16_t *b, float *sums, bool more, int m, int64_t n,
              Fetching &ahead) {
  constexpr int64_t kStride = kColumns;
  if (m > kSide)
    n > kSide ? sumTiles<true, true>(k, a, b, sums, kStride, more, ahead)
              : sumTiles<true, false>(k, a, b, sums, kStride, more, ahead);
  else
    n > kSide ? sumTiles<false, true>(k, a, b, sums, kStride, more, ahead)
              : sumTiles<false, false>(k, a, b, sums, kStride, more, ahead);
}

/// 16 sums of one row of a tile, with the bias and the earlier sums.
struct Ended {
  __m512 value;
  __mmask16 lanes;
};
inline Ended endSums(const float *sums, const float *bias, const float *earlier, int64_t n) {
  const auto lanes = static_cast<__mmask16>(firstLanes(n));
  __m512 value = _mm512_load_ps(sums);
  if (bias)
    value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(lanes, bias));
  if (earlier)
    value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(lanes, earlier));
  return {value, lanes};
}

/// Writes m x n of the sums aside, which are kColumns apart.
inline void writeSums(const float *sums, float *c, int64_t ldc, int m, int64_t n, bool accumulate,
                      const float *bias) {
  for (int64_t column = 0; column < n; column += kSide)
    for (int i = 0; i < m; ++i) {
      float *to = c + i * ldc + column;
      const Ended end = endSums(sums + i * kColumns + column, bias ? bias + column : nullptr,
                                accumulate ? to : nullptr, n - column);
      _mm512_mask_storeu_ps(to, end.lanes, end.value);
    }
}

/// To bf16 by integers, as the conversion in hardware takes subnormal numbers for zero.
inline __m256i roundSubnormal(__m512 value) {
  const __m512i word = _mm512_castps_si512(value), one = _mm512_set1_epi32(1);
  const __m512i even = _mm512_and_si512(_mm512_srli_epi32(word, 16), one);
  __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(word, _mm512_set1_epi32(0x7fff)), even);
  rounded = _mm512_mask_or_epi32(rounded, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), word,
                                 _mm512_set1_epi32(0x400000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
}

inline __m256i roundToBf16(__m512 value) {
  constexpr int kSubnormal = 0x20;
  if (_mm512_fpclass_ps_mask(value, kSubnormal))
    return roundSubnormal(value);
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value));
}

inline void roundSums(const float *sums, const float *earlier, int64_t ldc, uint16_t *to, int64_t stride,
                      int m, int64_t n, const float *bias) {
  for (int i = 0; i < m; ++i)
    for (int64_t column = 0; column < n; column += kSide) {
      const Ended end = endSums(sums + i * kColumns + column, bias ? bias + column : nullptr,
                                earlier ? earlier + i * ldc + column : nullptr, n - column);
      _mm256_mask_storeu_epi16(to + i * stride + column, end.lanes, roundToBf16(end.value));
    }
}

void amxTile(int64_t k, const uint16_t *a, const uint16_t *b, float *c, int64_t ldc, int m, int n,
             bool accumulate, const float *bias) {
  alignas(64) float aside[kColumns * kColumns];
  Fetching nothing;
  if (m == kColumns && n == kColumns && !bias)
    return sumTiles<true, true>(k, a, b, c, ldc, accumulate, nothing);
  sumTiles(k, a, b, aside, false, m, n, nothing);
  writeSums(aside, c, ldc, m, n, accumulate, bias);
}

/// Steps of k for which a panel of A stays in an L1 of 48 KiB while panels of B pass by. The sums wait in the
/// L2 meanwhile, to which they cost less than both panels.
int64_t pieceOf(int64_t k) {
  constexpr int64_t kWhole = 384, kPiece = 256;
  if (k <= kWhole)
    return k;
  const int64_t pieces = (k + kPiece - 1) / kPiece, steps = k / kDepth;
  return (steps + pieces - 1) / pieces * kDepth;
}

void endTile(const GemmTileRow<uint16_t> &row, const float *sums, int64_t column) {
  const int64_t n = row.columns - column < kColumns ? row.columns - column : kColumns;
  const float *bias = row.bias ? row.bias + column : nullptr;
  if (row.rounded)
    roundSums(sums, row.accumulate ? row.c + column : nullptr, row.ldc, row.rounded + column,
              row.roundedStride, row.rows, n, bias);
  else
    writeSums(sums, row.c + column, row.ldc, row.rows, n, row.accumulate, bias);
}

void amxRow(const GemmTileRow<uint16_t> &row) {
  alignas(64) float sums[kMostInRow][kColumns * kColumns];
  setRegistersUp();
  Fetching ahead{row.ahead, 0};
  const int64_t steps = row.k / kDepth * ((row.columns + kColumns - 1) / kColumns);
  ahead.lines = static_cast<int>((row.aheadElements / 32 + steps - 1) / steps);
  const int64_t piece = pieceOf(row.k), width = row.rows > kSide ? kColumns : kSide;
  for (int64_t p = 0; p < row.k; p += piece) {
    const int64_t length = row.k - p < piece ? row.k - p : piece;
    for (int64_t column = 0; column < row.columns; column += kColumns) {
      float *mine = sums[column / kColumns];
      sumTiles(length, row.a + p * width, row.b + column * row.k + p * kColumns, mine, p > 0, row.rows,
               row.columns - column, ahead);
      if (p + piece >= row.k)
        endTile(row, mine, column);
    }
  }
  giveRegistersBack();
}

} // namespace

constinit const GemmTile<uint16_t> kGemmTileAmx{.rows = kColumns,
                                                .columns = kColumns,
                                                .step = kSide,
                                                .run = amxTile,
                                                .depth = kDepth,
                                                .mostK = kMostK,
                                                .packA = packRuns,
                                                .packB = packPairs<kDepth>,
                                                .packFourA = packFourOfRuns,
                                                .packFourB = packFourOfPairs<kDepth>,
                                                .runRow = amxRow,
                                                .mostInRow = kMostInRow,
                                                .sizes = kSizes,
                                                .enter = setRegistersUp,
                                                .leave = giveRegistersBack};
#else
constinit const GemmTile<uint16_t> kGemmTileAmx{.rows = kColumns,
                                                .columns = kColumns,
                                                .step = kSide,
                                                .run = nullptr,
                                                .depth = kDepth,
                                                .mostK = kMostK,
                                                .mostInRow = kMostInRow,
                                                .sizes = kSizes};
#endif

} // namespace kedge::rt::cpu
