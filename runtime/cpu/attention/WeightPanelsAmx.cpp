#include "runtime/cpu/attention/WeightPanels.h"
#if defined(__AMX_BF16__)
#include <immintrin.h>
#endif

namespace kedge::rt::cpu {

#if defined(__AMX_BF16__)
namespace {

constexpr int kLanes = 16, kRow = 2 * kLanes;

struct Halves {
  __m512i rounded, rest;
};

inline __m512i round(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

inline __m512 widened(__m256i values) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16));
}

/// 32 weights as a bf16 number each and what its rounding left, which is exact to 2^-17 of the weight.
inline Halves halve(const float *low, const float *high) {
  const __m512 first = _mm512_load_ps(low), second = _mm512_load_ps(high);
  const __m512i rounded = round(first, second);
  const __m512 before = widened(_mm512_castsi512_si256(rounded)),
               behind = widened(_mm512_extracti64x4_epi64(rounded, 1));
  return {rounded, round(_mm512_sub_ps(first, before), _mm512_sub_ps(second, behind))};
}

void packPairs(uint16_t *dst, uint16_t *rest, const float *weights, int64_t rows) {
  alignas(64) static constexpr uint16_t kInTurns[kRow] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                          21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                          11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i inTurns = _mm512_load_si512(kInTurns);
  for (int64_t row = 0; row < rows; row += 2, weights += 2 * kRow, dst += 2 * kRow, rest += 2 * kRow) {
    const Halves left = halve(weights, weights + kRow),
                 right = halve(weights + kLanes, weights + kRow + kLanes);
    _mm512_store_si512(dst, _mm512_permutexvar_epi16(inTurns, left.rounded));
    _mm512_store_si512(dst + kRow, _mm512_permutexvar_epi16(inTurns, right.rounded));
    _mm512_store_si512(rest, _mm512_permutexvar_epi16(inTurns, left.rest));
    _mm512_store_si512(rest + kRow, _mm512_permutexvar_epi16(inTurns, right.rest));
  }
}

void packRuns(uint16_t *dst, uint16_t *rest, const float *weights, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row, weights += kRow, dst += kRow, rest += kRow) {
    const Halves both = halve(weights, weights + kLanes);
    _mm512_store_si512(dst, both.rounded);
    _mm512_store_si512(rest, both.rest);
  }
}

} // namespace

constinit const WeightPanels kWeightPanelsAmx{packPairs, packRuns};
#else
constinit const WeightPanels kWeightPanelsAmx{nullptr, nullptr};
#endif

} // namespace kedge::rt::cpu
