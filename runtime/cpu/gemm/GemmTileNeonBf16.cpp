// Products of bf16 with bfdot: two k's a step, 12 x 8 sums in registers. No standard headers, as in
// GemmTile.h.
#include "runtime/cpu/gemm/GemmTile.inc"
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include <arm_neon.h>

namespace kedge::rt::cpu {
namespace {

/// A pair of k's of one row of A: one of four in a register.
struct PairOfRow {
  bfloat16x8_t rows;
  int place;
};

struct DotTerm {
  using Panel = uint16_t;
  using Sum = float;
  using V = VectorOf<float, 16>::type;
  static constexpr int kBytes = 16, kDepth = 2;
  static PairOfRow left(const uint16_t *a, int i) {
    return {vreinterpretq_bf16_u16(vld1q_u16(a + i / 4 * 8)), i % 4};
  }
  static bfloat16x8_t right(const uint16_t *b, int vector) {
    return vreinterpretq_bf16_u16(vld1q_u16(b + vector * 8));
  }
  /// The loop over rows is unrolled: `place` is a constant there.
  static void add(V &sum, PairOfRow x, bfloat16x8_t row) {
    switch (x.place) {
    case 0:
      sum = vbfdotq_laneq_f32(sum, row, x.rows, 0);
      break;
    case 1:
      sum = vbfdotq_laneq_f32(sum, row, x.rows, 1);
      break;
    case 2:
      sum = vbfdotq_laneq_f32(sum, row, x.rows, 2);
      break;
    default:
      sum = vbfdotq_laneq_f32(sum, row, x.rows, 3);
    }
  }
};

inline uint16_t elementOr0(const uint16_t *src, int64_t rowStride, int64_t columnStride, int64_t i, int64_t p,
                           int64_t lanes, int64_t k) {
  return i < lanes && p < k ? src[i * rowStride + p * columnStride] : uint16_t{0};
}

/// dst[(p / 2) * 2 width + 2 i + p % 2], k filled up to a multiple of 2.
void packPairs(uint16_t *dst, int64_t width, const uint16_t *src, int64_t rowStride, int64_t columnStride,
               int64_t lanes, int64_t k) {
  for (int64_t p = 0; p < k; p += 2, dst += 2 * width) {
    const bool whole = p + 2 <= k;
    int64_t i = 0;
    if (whole && rowStride == 1)
      for (; i + 8 <= lanes; i += 8) {
        const uint16_t *from = src + p * columnStride + i;
        vst2q_u16(dst + 2 * i, (uint16x8x2_t{{vld1q_u16(from), vld1q_u16(from + columnStride)}}));
      }
    if (whole && columnStride == 1)
      for (; i < lanes; ++i)
        __builtin_memcpy(dst + 2 * i, src + i * rowStride + p, 2 * sizeof(uint16_t));
    for (; i < width; ++i)
      for (int64_t q = 0; q < 2; ++q)
        dst[2 * i + q] = elementOr0(src, rowStride, columnStride, i, p + q, lanes, k);
  }
}

} // namespace

constinit const GemmTile<uint16_t> kGemmTileNeonBf16{.rows = 12,
                                                     .columns = 8,
                                                     .step = 4,
                                                     .run = tile<DotTerm, 4, 2>,
                                                     .depth = 2,
                                                     .mostK = 768,
                                                     .packA = packPairs,
                                                     .packB = packPairs,
                                                     .sizes = {.bytesA = 768 << 10, .bytesB = 4096 << 10}};

} // namespace kedge::rt::cpu
#endif
