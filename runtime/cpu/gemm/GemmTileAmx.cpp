// Products of bf16 in AMX's tile registers.
#include "runtime/cpu/gemm/GemmTileAmx.h"
#if defined(__AMX_BF16__)
#include "runtime/cpu/gemm/GemmTileAmx.inc"
#endif

namespace kedge::rt::cpu {

namespace {

// A sum is a chain of at most 64 of the machine's own sums of 32 terms, each two chains of 16.
constexpr int64_t kMostK = 64 * 32;
// Machines with these registers have an L2 of 2 MiB, and do ten times as many FLOPs in a region's time.
constexpr GemmSizes kSizes{
    .bytesA = 512 << 10, .bytesB = 4096 << 10, .rowBytes = 512 << 10, .regionFlops = 160e6};
constexpr GemmTile<uint16_t> kTile = amxTile<uint16_t>(kMostK, kSizes);

} // namespace

#if defined(__AMX_BF16__)
namespace {

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

void bf16Tile(int64_t k, const uint16_t *a, const uint16_t *b, float *c, int64_t ldc, int m, int n,
              bool accumulate, const float *bias) {
  alignas(64) float aside[kColumns * kColumns];
  Fetching nothing;
  if (m == kColumns && n == kColumns && !bias)
    return sumTiles<1, true, true>(k, a, b, c, ldc, accumulate, nothing);
  sumTiles<1>(k, a, b, aside, false, m, n, nothing);
  writeSums(aside, c, ldc, m, n, accumulate, bias);
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

void bf16Row(const GemmTileRow<uint16_t> &row) {
  constexpr int64_t kWhole = 384, kPiece = 256;
  alignas(64) float sums[kTile.mostInRow][kColumns * kColumns];
  sumRow<1>(row, sums, pieceOf(row.k, kWhole, kPiece),
            [&](const float *mine, int64_t column) { endTile(row, mine, column); });
}

constexpr GemmTile<uint16_t> withFunctions() {
  GemmTile<uint16_t> tile = kTile;
  tile.run = bf16Tile;
  tile.packA = packRuns, tile.packB = packPairs<kDepth>;
  tile.packFourA = packFourOfRuns, tile.packFourB = packFourOfPairs<kDepth>;
  tile.runRow = bf16Row;
  tile.enter = setRegistersUp, tile.leave = giveRegistersBack;
  return tile;
}

} // namespace

constinit const GemmTile<uint16_t> kGemmTileAmx = withFunctions();
#else
constinit const GemmTile<uint16_t> kGemmTileAmx = kTile;
#endif

} // namespace kedge::rt::cpu
