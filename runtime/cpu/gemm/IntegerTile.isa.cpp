// Compiled for each instruction set.
#include "runtime/cpu/gemm/IntegerTile.h"
#include "runtime/cpu/isa/EachIsa.h"

namespace kedge::rt::cpu {
namespace {

/// Of 4 rows and then of 1: sums stay in registers.
template <int Rows>
void rowsOfTile(int64_t k, const int8_t *a, int64_t stride, const int8_t *b, uint32_t *__restrict sums) {
  uint32_t sum[Rows][kIntegerColumns];
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < kIntegerColumns; ++j)
      sum[i][j] = sums[i * kIntegerColumns + j];
  for (int64_t p = 0; p < k; ++p)
    for (int i = 0; i < Rows; ++i)
      for (int j = 0; j < kIntegerColumns; ++j)
        sum[i][j] += static_cast<uint32_t>(a[i * stride + p] * b[p * kIntegerColumns + j]);
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < kIntegerColumns; ++j)
      sums[i * kIntegerColumns + j] = sum[i][j];
}

void run(int64_t rows, int64_t k, const int8_t *a, int64_t stride, const int8_t *b, uint32_t *sums) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4)
    rowsOfTile<4>(k, a + i * stride, stride, b, sums + i * kIntegerColumns);
  for (; i < rows; ++i)
    rowsOfTile<1>(k, a + i * stride, stride, b, sums + i * kIntegerColumns);
}

} // namespace

IntegerTile KEDGE_FOR_ISA(integerTile, )() { return {run, 1}; }

} // namespace kedge::rt::cpu
