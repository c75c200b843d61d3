#include "runtime/cpu/attention/WeightPanels.h"
#if defined(__AMX_BF16__)
#include <immintrin.h>
#endif

namespace kedge::rt::cpu {

#if defined(__AMX_BF16__)
namespace {

constexpr int kLanes = 16, kRow = 2 * kLanes;

inline __m512i rounded(const float *low, const float *high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_load_ps(high), _mm512_load_ps(low)));
}

void packPairs(uint16_t *dst, const float *weights, int64_t rows) {
  alignas(64) static constexpr uint16_t kInTurns[kRow] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                          21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                          11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i inTurns = _mm512_load_si512(kInTurns);
  for (int64_t row = 0; row < rows; row += 2, weights += 2 * kRow, dst += 2 * kRow)
    for (int half = 0; half < kRow; half += kLanes)
      _mm512_store_si512(dst + 2 * half,
                         _mm512_permutexvar_epi16(inTurns, rounded(weights + half, weights + kRow + half)));
}

void packRuns(uint16_t *dst, const float *weights, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row, weights += kRow, dst += kRow)
    _mm512_store_si512(dst, rounded(weights, weights + kLanes));
}

} // namespace

constinit const WeightPanels kWeightPanelsAmx{packPairs, packRuns};
#else
constinit const WeightPanels kWeightPanelsAmx{nullptr, nullptr};
#endif

} // namespace kedge::rt::cpu
