#include "runtime/cpu/gemm/TransposedRows.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace kedge::rt::cpu {

#if defined(__AVX512F__)
namespace {

constexpr int kSide = 16;
/// Rows are more streams than the hardware fetches ahead. Near their ends, what follows is mostly as many
/// further rows.
constexpr int kAhead = 4 * kSide;

__m512 pairsOf(__m512 a, __m512 b, bool high) {
  const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
  return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(x, y) : _mm512_unpacklo_pd(x, y));
}

/// Transposes 16 rows of 16: elements within quarters of a register first, then the quarters.
[[gnu::always_inline]] inline void turn(__m512 (&row)[kSide]) {
  __m512 part[kSide];
#pragma GCC unroll 8
  for (int i = 0; i < kSide; i += 2) {
    part[i] = _mm512_unpacklo_ps(row[i], row[i + 1]);
    part[i + 1] = _mm512_unpackhi_ps(row[i], row[i + 1]);
  }
  // Quarter q of row[4 g + j]: column 4 q + j of rows 4 g to 4 g + 3.
#pragma GCC unroll 4
  for (int g = 0; g < kSide; g += 4) {
    row[g] = pairsOf(part[g], part[g + 2], false);
    row[g + 1] = pairsOf(part[g], part[g + 2], true);
    row[g + 2] = pairsOf(part[g + 1], part[g + 3], false);
    row[g + 3] = pairsOf(part[g + 1], part[g + 3], true);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 even01 = _mm512_shuffle_f32x4(row[j], row[j + 4], 0x88),
                 odd01 = _mm512_shuffle_f32x4(row[j], row[j + 4], 0xdd);
    const __m512 even23 = _mm512_shuffle_f32x4(row[j + 8], row[j + 12], 0x88);
    const __m512 odd23 = _mm512_shuffle_f32x4(row[j + 8], row[j + 12], 0xdd);
    part[j] = _mm512_shuffle_f32x4(even01, even23, 0x88);
    part[j + 4] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
    part[j + 8] = _mm512_shuffle_f32x4(even01, even23, 0xdd);
    part[j + 12] = _mm512_shuffle_f32x4(odd01, odd23, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i)
    row[i] = part[i];
}

__mmask16 ones(int64_t count) { return static_cast<__mmask16>(count >= kSide ? 0xffff : (1 << count) - 1); }

/// At most 16 rows and 16 columns of them. `ahead`: what to fetch meanwhile.
void turnBlock(float *dst, int64_t width, const float *src, int64_t stride, int64_t lanes, int64_t columns,
               const float *ahead) {
  const __mmask16 inRow = ones(columns), inColumn = ones(lanes);
  __m512 row[kSide];
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i)
    if (i < lanes) {
      _mm_prefetch(ahead + i * stride, _MM_HINT_T0);
      row[i] = _mm512_maskz_loadu_ps(inRow, src + i * stride);
    } else {
      row[i] = _mm512_setzero_ps();
    }
  turn(row);
#pragma GCC unroll 16
  for (int p = 0; p < kSide; ++p)
    if (p < columns)
      _mm512_mask_storeu_ps(dst + p * width, inColumn, row[p]);
}

void turnRows(float *dst, int64_t width, const float *src, int64_t stride, int64_t lanes, int64_t k) {
  for (int64_t p = 0; p < k; p += kSide)
    for (int64_t i = 0; i < lanes; i += kSide) {
      const float *rows = src + i * stride,
                  *ahead = p + kAhead < k ? rows + p + kAhead : rows + lanes * stride + p % kAhead;
      turnBlock(dst + p * width + i, width, rows + p, stride, lanes - i < kSide ? lanes - i : kSide,
                k - p < kSide ? k - p : kSide, ahead);
    }
}

} // namespace

TransposedRows transposedRowsAvx512() { return turnRows; }
#else
TransposedRows transposedRowsAvx512() { return nullptr; }
#endif

} // namespace kedge::rt::cpu
