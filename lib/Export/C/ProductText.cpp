// Products in C11.
#include "lib/Export/C/ProductText.h"

namespace kedge::exporter {

const char fmaText[] =
    R"(/* a b + c, rounded once as on processors with fused multiply-adds; without them -D'KEDGE_FMA(a,b,c)=((a)*(b)+(c))' is quick. */
#ifndef KEDGE_FMA
#define KEDGE_FMA fmaf
#define KEDGE_FUSED 1
#else
#define KEDGE_FUSED 0
#endif
)";

/// Sums of products keep their order whatever the lanes are.
const char lanesText[] =
    R"(/* KEDGE_LANES numbers side by side, where the compiler has vectors and the processor KEDGE_FMA for them; 0: there are none.
   A KEDGE_FMA that is given from outside has them where KEDGE_LANES is given, too, and is asked for vectors then. */
#if KEDGE_FUSED && defined(__GNUC__) && defined(__AVX512F__)
#include <immintrin.h>
#define KEDGE_LANES 16
#define KEDGE_LANE_FMA(a, b, c) ((kedge_lanes)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#elif KEDGE_FUSED && defined(__GNUC__) && defined(__FMA__)
#include <immintrin.h>
#define KEDGE_LANES 8
#define KEDGE_LANE_FMA(a, b, c) ((kedge_lanes)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#elif KEDGE_FUSED && defined(__GNUC__) && defined(__aarch64__)
#include <arm_neon.h>
#define KEDGE_LANES 4
#define KEDGE_LANE_FMA(a, b, c) ((kedge_lanes)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#elif defined(KEDGE_LANES)
#define KEDGE_LANE_FMA KEDGE_FMA
#else
#define KEDGE_LANES 0
#endif
#if KEDGE_LANES
enum { KEDGE_COLUMNS = 2 * KEDGE_LANES };
typedef float kedge_lanes __attribute__((vector_size(4 * KEDGE_LANES)));
union kedge_row {
  float column[KEDGE_COLUMNS];
  kedge_lanes half[2];
};
#else
enum { KEDGE_COLUMNS = 8 };
union kedge_row {
  float column[KEDGE_COLUMNS];
};
#endif
)";

/// The order of a sum of products: blocks of even length, and chains of 64 in a block (runtime/cpu/gemm).
const char sumsText[] =
    R"(/* Factors of a block of terms: of columns side by side, and where those of a row lie. */
static union kedge_row kedge_panel[KEDGE_BLOCK];
static ptrdiff_t kedge_at[KEDGE_BLOCK];
#if KEDGE_LANES
#define KEDGE_SAME(x) ((x) - (kedge_lanes){0})
#define KEDGE_TERM(r) \
  const kedge_lanes factor##r = KEDGE_SAME(a[r * a_row + at]); \
  left##r = KEDGE_LANE_FMA(factor##r, left, left##r); \
  right##r = KEDGE_LANE_FMA(factor##r, right, right##r);
#define KEDGE_CHAIN(r) kedge_lanes left##r = {0}, right##r = {0};
#define KEDGE_ADD(r) \
  sums[r].half[0] = begin ? sums[r].half[0] + left##r : left##r; \
  sums[r].half[1] = begin ? sums[r].half[1] + right##r : right##r;
#define KEDGE_SUMS(ROWS, EACH) \
  static void kedge_sums_of_##ROWS(const float *a, int64_t a_row, int64_t terms, union kedge_row sums[ROWS]) { \
    for (int64_t begin = 0; begin < terms; begin += 64) { \
      const int64_t end = terms - begin > 64 ? begin + 64 : terms; \
      EACH(KEDGE_CHAIN) \
      for (int64_t q = begin; q < end; ++q) { \
        const ptrdiff_t at = kedge_at[q]; \
        const kedge_lanes left = kedge_panel[q].half[0], right = kedge_panel[q].half[1]; \
        EACH(KEDGE_TERM) \
      } \
      EACH(KEDGE_ADD) \
    } \
  }
#define KEDGE_EACH_OF_4(DO) DO(0) DO(1) DO(2) DO(3)
#define KEDGE_EACH_OF_1(DO) DO(0)
KEDGE_SUMS(4, KEDGE_EACH_OF_4)
KEDGE_SUMS(1, KEDGE_EACH_OF_1)
#else
#define KEDGE_SUMS(ROWS) \
  static void kedge_sums_of_##ROWS(const float *a, int64_t a_row, int64_t terms, union kedge_row sums[ROWS]) { \
    for (int64_t begin = 0; begin < terms; begin += 64) { \
      const int64_t end = terms - begin > 64 ? begin + 64 : terms; \
      float chain[ROWS][KEDGE_COLUMNS] = {{0}}; \
      for (int64_t q = begin; q < end; ++q) \
        for (int r = 0; r < ROWS; ++r) { \
          const float factor = a[r * a_row + kedge_at[q]]; \
          for (int c = 0; c < KEDGE_COLUMNS; ++c) \
            chain[r][c] = KEDGE_FMA(factor, kedge_panel[q].column[c], chain[r][c]); \
        } \
      for (int r = 0; r < ROWS; ++r) \
        for (int c = 0; c < KEDGE_COLUMNS; ++c) \
          sums[r].column[c] = begin ? sums[r].column[c] + chain[r][c] : chain[r][c]; \
    } \
  }
KEDGE_SUMS(4)
KEDGE_SUMS(1)
#endif
/* The columns of y that a panel has, which lie side by side: the sums over a block, added to what is there. */
static void kedge_columns(const float *a, int64_t a_row, int64_t rows, int64_t terms, float *y, int64_t y_row, int columns,
                          int adds) {
  union kedge_row sums[4];
  for (int64_t i = 0, count; i < rows; i += count) {
    count = rows - i < 4 ? 1 : 4;
    if (count == 4)
      kedge_sums_of_4(a + i * a_row, a_row, terms, sums);
    else
      kedge_sums_of_1(a + i * a_row, a_row, terms, sums);
    for (int64_t r = 0; r < count; ++r)
      for (int c = 0; c < columns; ++c) {
        float *to = y + (i + r) * y_row + c;
        *to = adds ? *to + sums[r].column[c] : sums[r].column[c];
      }
  }
}
)";

const char matmulText[] =
    R"(/* y = a b + bias, or with factors alpha (a b) + beta c; places of elements by row and column. */
struct kedge_matmul {
  int64_t m, n, k, block, a_row, a_column, b_row, b_column, c_row, c_column;
  float alpha, beta;
  int has_c, is_bias; /* is_bias: c is a row that sums begin with */
};
static void kedge_matmul(const struct kedge_matmul *p, const float *a, const float *b, const float *c, float *y) {
  for (int64_t i = 0; i < p->m && (p->is_bias || p->k == 0); ++i)
    for (int64_t j = 0; j < p->n; ++j)
      y[i * p->n + j] = p->is_bias ? c[j] : 0;
  for (int64_t begin = 0; begin < p->k; begin += p->block) {
    const int64_t terms = p->k - begin < p->block ? p->k - begin : p->block;
    for (int64_t q = 0; q < terms; ++q)
      kedge_at[q] = (ptrdiff_t)((begin + q) * p->a_column);
    for (int64_t j = 0; j < p->n; j += KEDGE_COLUMNS) {
      const int columns = p->n - j < KEDGE_COLUMNS ? (int)(p->n - j) : KEDGE_COLUMNS;
      const float *from = b + begin * p->b_row + j * p->b_column;
      for (int64_t q = 0; q < terms; ++q, from += p->b_row)
        if (columns == KEDGE_COLUMNS && p->b_column == 1)
          memcpy(kedge_panel[q].column, from, sizeof kedge_panel[q]);
        else
          for (int l = 0; l < KEDGE_COLUMNS; ++l)
            kedge_panel[q].column[l] = l < columns ? from[l * p->b_column] : 0;
      kedge_columns(a, p->a_row, p->m, terms, y + j, p->n, columns, p->is_bias || begin);
    }
  }
  for (int64_t i = 0; i < p->m && ((p->has_c && !p->is_bias) || p->alpha != 1); ++i)
    for (int64_t j = 0; j < p->n; ++j) {
      float *to = y + i * p->n + j;
      *to = p->has_c && !p->is_bias ? p->alpha * *to + p->beta * c[i * p->c_row + j * p->c_column] : p->alpha * *to;
    }
}
)";

} // namespace kedge::exporter
