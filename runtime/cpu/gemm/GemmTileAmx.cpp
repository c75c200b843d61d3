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

} // namespace

#if defined(__AMX_BF16__)
namespace {

struct alignas(64) TileConfig {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// sums[32 x 32] = A B, of which `Tall` the second 16 rows and `Wide` the second 16 columns are wanted; rows
/// lie `stride` apart.
template <bool Tall, bool Wide>
void sumTiles(int64_t k, const uint16_t *a, const uint16_t *b, float *sums, int64_t stride) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t p = 0; p < k; p += kDepth) {
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 4 * kColumns);
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
    a += (Tall ? 2 : 1) * kSide * kDepth;
    b += kColumns * kDepth;
  }
  const int64_t bytes = 4 * stride;
  _tile_stored(0, sums, bytes);
  if constexpr (Wide)
    _tile_stored(1, sums + kSide, bytes);
  if constexpr (Tall)
    _tile_stored(2, sums + kSide * stride, bytes);
  if constexpr (Tall && Wide)
    _tile_stored(3, sums + kSide * stride + kSide, bytes);
}

void amxTile(int64_t k, const uint16_t *a, const uint16_t *b, float *c, int64_t ldc, int m, int n,
             bool accumulate, const float *bias) {
  static constexpr TileConfig kConfig;
  alignas(64) float aside[kColumns * kColumns];
  const bool direct = m == kColumns && n == kColumns && !accumulate && !bias;
  float *sums = direct ? c : aside;
  const int64_t stride = direct ? ldc : kColumns;
  // Set up and given back a tile: registers that stay in use are saved at every switch of threads.
  _tile_loadconfig(&kConfig);
  if (m > kSide)
    n > kSide ? sumTiles<true, true>(k, a, b, sums, stride) : sumTiles<true, false>(k, a, b, sums, stride);
  else
    n > kSide ? sumTiles<false, true>(k, a, b, sums, stride) : sumTiles<false, false>(k, a, b, sums, stride);
  _tile_release();
  if (direct)
    return;
  for (int column = 0; column < n; column += kSide) {
    const auto lanes = static_cast<__mmask16>(firstLanes(n - column));
    const __m512 start = bias ? _mm512_maskz_loadu_ps(lanes, bias + column) : _mm512_setzero_ps();
    for (int i = 0; i < m; ++i) {
      __m512 sum = _mm512_load_ps(aside + i * kColumns + column);
      if (bias)
        sum = _mm512_add_ps(sum, start);
      float *to = c + i * ldc + column;
      if (accumulate)
        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes, to));
      _mm512_mask_storeu_ps(to, lanes, sum);
    }
  }
}

} // namespace

constinit const GemmTile<uint16_t> kGemmTileAmx{kColumns, kColumns, kSide,    amxTile,
                                                kDepth,   kMostK,   packRuns, packPairs<kDepth>};
#else
constinit const GemmTile<uint16_t> kGemmTileAmx{kColumns, kColumns, kSide,   nullptr,
                                                kDepth,   kMostK,   nullptr, nullptr};
#endif

} // namespace kedge::rt::cpu
