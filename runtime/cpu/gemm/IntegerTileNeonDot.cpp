// Products of 8-bit integers with sdot: four k's a step. No standard headers, as in GemmTile.h.
#include "runtime/cpu/gemm/IntegerTile.h"
#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>

namespace kedge::rt::cpu {
namespace {

constexpr int kDepth = 4, kVectors = kIntegerColumns / 4;

template <int Rows>
void rowsOfTile(int64_t k, const int8_t *a, int64_t stride, const int8_t *b, uint32_t *unsignedSums) {
  auto *sums = reinterpret_cast<int32_t *>(unsignedSums); // sdot wraps
  int32x4_t sum[Rows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j)
      sum[i][j] = vld1q_s32(sums + i * kIntegerColumns + 4 * j);
  for (int64_t p = 0; p < k; p += kDepth, b += kDepth * kIntegerColumns) {
    int8x16_t columns[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j)
      columns[j] = vld1q_s8(b + 16 * j);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) {
      int32_t four;
      __builtin_memcpy(&four, a + i * stride + p, sizeof four);
      const int8x16_t row = vreinterpretq_s8_s32(vdupq_n_s32(four));
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j)
        sum[i][j] = vdotq_s32(sum[i][j], columns[j], row);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j)
      vst1q_s32(sums + i * kIntegerColumns + 4 * j, sum[i][j]);
}

} // namespace

IntegerTile integerTileNeonDot() { return {rowsOfTile<4>, rowsOfTile<1>, kDepth}; }

} // namespace kedge::rt::cpu
#endif
