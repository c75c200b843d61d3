#include "runtime/cpu/MaskedRows.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace kedge::rt::cpu {

#if defined(__AVX512F__)
namespace {

template <bool Joins>
void maskedRowsOf(int64_t rows, const float *from, int64_t fromStep, uint32_t mask, float *to, int64_t toStep) {
  const __mmask16 low = static_cast<__mmask16>(mask), high = static_cast<__mmask16>(mask >> 16);
  for (int64_t row = 0; row < rows; ++row, from += fromStep, to += toStep) {
    const __m512 first = Joins ? _mm512_loadu_ps(to) : _mm512_setzero_ps();
    const __m512 second = Joins ? _mm512_loadu_ps(to + 16) : _mm512_setzero_ps();
    _mm512_storeu_ps(to, _mm512_mask_loadu_ps(first, low, from));
    _mm512_storeu_ps(to + 16, _mm512_mask_loadu_ps(second, high, from + 16));
  }
}

void copyMasked(int64_t rows, const float *from, int64_t fromStep, uint32_t mask, float *to, int64_t toStep, bool joins) {
  (joins ? maskedRowsOf<true> : maskedRowsOf<false>)(rows, from, fromStep, mask, to, toStep);
}

} // namespace

MaskedRows maskedRowsAvx512() { return copyMasked; }
#else
MaskedRows maskedRowsAvx512() { return nullptr; }
#endif

} // namespace kedge::rt::cpu
