#include "runtime/cpu/conv/MaskedRows.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace kedge::rt::cpu {

#if defined(__AVX512F__)
namespace {

/// From a row to that of the next panel but one. Panels follow each other in the image; rows of a panel are
/// too many streams for the hardware to fetch ahead.
constexpr int kNext = 2 * kMaskedLanes;

template <bool Joins>
void maskedRowsOf(const MaskedTaps &taps, int64_t tap, int64_t rows, const float *place, int64_t plane,
                  float *to) {
  for (int64_t row = 0; row < rows; ++row, to += kMaskedLanes) {
    const float *from = place + taps.distance[tap];
    const __mmask16 low = static_cast<__mmask16>(taps.mask[tap]),
                    high = static_cast<__mmask16>(taps.mask[tap] >> 16);
    _mm_prefetch(from + kNext, _MM_HINT_T0);
    _mm_prefetch(from + kNext + 16, _MM_HINT_T0);
    const __m512 first = Joins ? _mm512_loadu_ps(to) : _mm512_setzero_ps();
    const __m512 second = Joins ? _mm512_loadu_ps(to + 16) : _mm512_setzero_ps();
    _mm512_storeu_ps(to, _mm512_mask_loadu_ps(first, low, from));
    _mm512_storeu_ps(to + 16, _mm512_mask_loadu_ps(second, high, from + 16));
    if (++tap == taps.count)
      tap = 0, place += plane;
  }
}

void copyMasked(const MaskedTaps &taps, int64_t tap, int64_t rows, const float *place, int64_t plane,
                float *to, bool joins) {
  (joins ? maskedRowsOf<true> : maskedRowsOf<false>)(taps, tap, rows, place, plane, to);
}

/// A row of 16 bits is one register.
template <bool Joins>
void narrowMaskedRowsOf(const MaskedTaps &taps, int64_t tap, int64_t rows, const uint16_t *place,
                        int64_t plane, uint16_t *to) {
  for (int64_t row = 0; row < rows; ++row, to += kMaskedLanes) {
    const uint16_t *from = place + taps.distance[tap];
    _mm_prefetch(from + kNext, _MM_HINT_T0);
    const __m512i before = Joins ? _mm512_loadu_si512(to) : _mm512_setzero_si512();
    _mm512_storeu_si512(to, _mm512_mask_loadu_epi16(before, taps.mask[tap], from));
    if (++tap == taps.count)
      tap = 0, place += plane;
  }
}

void copyNarrowMasked(const MaskedTaps &taps, int64_t tap, int64_t rows, const uint16_t *place, int64_t plane,
                      uint16_t *to, bool joins) {
  (joins ? narrowMaskedRowsOf<true> : narrowMaskedRowsOf<false>)(taps, tap, rows, place, plane, to);
}

} // namespace

MaskedRows<float> maskedRowsAvx512() { return copyMasked; }
MaskedRows<uint16_t> narrowMaskedRowsAvx512() { return copyNarrowMasked; }
#else
MaskedRows<float> maskedRowsAvx512() { return nullptr; }
MaskedRows<uint16_t> narrowMaskedRowsAvx512() { return nullptr; }
#endif

} // namespace kedge::rt::cpu
