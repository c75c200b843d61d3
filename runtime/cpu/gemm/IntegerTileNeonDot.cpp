// Products of 8-bit integers with sdot: four k's a step. No standard headers, as in GemmTile.h.
#include "runtime/cpu/gemm/IntegerTile.h"
#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>

namespace kedge::rt::cpu {
namespace {

constexpr int kDepth = 4, kVectors = kIntegerColumns / 4;

template <int Rows>
void rowsOfTile(int64_t k, const int8_t *a, int64_t stride, const int8_t *b, int32_t *sums) {
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

void run(int64_t rows, int64_t k, const int8_t *a, int64_t stride, const int8_t *b, uint32_t *unsignedSums) {
  auto *sums = reinterpret_cast<int32_t *>(unsignedSums); // sdot wraps
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4)
    rowsOfTile<4>(k, a + i * stride, stride, b, sums + i * kIntegerColumns);
  for (; i < rows; ++i)
    rowsOfTile<1>(k, a + i * stride, stride, b, sums + i * kIntegerColumns);
}

} // namespace

IntegerTile integerTileNeonDot() { return {run, kDepth}; }

} // namespace kedge::rt::cpu
#endif
