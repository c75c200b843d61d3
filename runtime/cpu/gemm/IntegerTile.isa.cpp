// Compiled for each instruction set.
#include "runtime/cpu/gemm/IntegerTile.h"
#include "runtime/cpu/isa/EachIsa.h"

namespace kedge::rt::cpu {
namespace {

/// Sums stay in registers.
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

} // namespace

IntegerTile KEDGE_FOR_ISA(integerTile, )() { return {rowsOfTile<4>, rowsOfTile<1>, 1}; }

} // namespace kedge::rt::cpu
