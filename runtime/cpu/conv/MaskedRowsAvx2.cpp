#include "runtime/cpu/conv/MaskedRows.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace kedge::rt::cpu {

#if defined(__AVX2__)
namespace {

constexpr int kLanes = 8; ///< of a register
/// From a row to that of the next panel but one, as with AVX-512.
constexpr int kNext = 2 * kMaskedLanesAvx2;

/// Elements of which a bit of `bits` is set: `each` has one bit per lane.
__m256i lanesOf(__m256i bits, __m256i each) { return _mm256_cmpeq_epi32(_mm256_and_si256(bits, each), each); }

template <bool Joins>
void maskedRowsOf(const MaskedTaps &taps, int64_t tap, int64_t rows, const float *place, int64_t plane,
                  float *to) {
  const __m256i low = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), high = _mm256_slli_epi32(low, kLanes);
  for (int64_t row = 0; row < rows; ++row, to += kMaskedLanesAvx2) {
    const float *from = place + taps.distance[tap];
    const __m256i bits = _mm256_set1_epi32(static_cast<int>(taps.mask[tap])), inFirst = lanesOf(bits, low),
                  inSecond = lanesOf(bits, high);
    _mm_prefetch(from + kNext, _MM_HINT_T0);
    __m256 first = _mm256_maskload_ps(from, inFirst), second = _mm256_maskload_ps(from + kLanes, inSecond);
    if (Joins) {
      first = _mm256_blendv_ps(_mm256_loadu_ps(to), first, _mm256_castsi256_ps(inFirst));
      second = _mm256_blendv_ps(_mm256_loadu_ps(to + kLanes), second, _mm256_castsi256_ps(inSecond));
    }
    _mm256_storeu_ps(to, first);
    _mm256_storeu_ps(to + kLanes, second);
    if (++tap == taps.count)
      tap = 0, place += plane;
  }
}

void copyMasked(const MaskedTaps &taps, int64_t tap, int64_t rows, const float *place, int64_t plane,
                float *to, bool joins) {
  (joins ? maskedRowsOf<true> : maskedRowsOf<false>)(taps, tap, rows, place, plane, to);
}

} // namespace

MaskedRows<float> maskedRowsAvx2() { return copyMasked; }
#else
MaskedRows<float> maskedRowsAvx2() { return nullptr; }
#endif

} // namespace kedge::rt::cpu
