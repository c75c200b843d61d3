#include "runtime/cpu/Gemm.h"

namespace kedge::rt::cpu {
namespace {

/// Parts of equal size, a multiple of `unit`, none above `most`.
int64_t evenBlock(int64_t size, int64_t most, int64_t unit) {
  int64_t parts = std::max<int64_t>(1, (size + most - 1) / most);
  return std::max(unit, ((size + parts - 1) / parts + unit - 1) / unit * unit);
}

template <typename T>
void startOnly(const GemmPlan &plan, T *c, int64_t ldc, GemmStart start, const T *bias) {
  if (start == GemmStart::Keep)
    return;
  for (int64_t i = 0; i < plan.m; ++i)
    for (int64_t j = 0; j < plan.n; ++j)
      c[i * ldc + j] = start == GemmStart::Bias ? bias[j] : T(0);
}

} // namespace

template <typename T> GemmPlan planGemm(int64_t m, int64_t n, int64_t k, int threads) {
  const GemmTile<T> &tile = gemmTile<T>();
  // Sized for an L1 of 32 KiB or more (a panel of B) and an L2 of 1 MiB (a block of A).
  constexpr int64_t kMostK = 1536 / sizeof(T), kMostRows = 480, kMostColumns = 2304;
  GemmPlan plan{};
  plan.m = m, plan.n = n, plan.k = k;
  plan.rows = tile.rows, plan.columns = tile.columns;
  plan.threads = m * n * k < 100'000 ? 1 : threads;
  plan.kBlock = evenBlock(k, kMostK, 4);
  plan.nBlock = evenBlock(n, kMostColumns, tile.columns);
  plan.mBlock = evenBlock(std::min<int64_t>(m, kMostRows), kMostRows, tile.rows);
  plan.panelABytes = alignedBytes(sizeof(T) * plan.mBlock * plan.kBlock);
  plan.panelBBytes = alignedBytes(sizeof(T) * plan.nBlock * plan.kBlock);
  return plan;
}

template <typename T, typename S>
void gemm(const GemmPlan &plan, Strided<S> a, Strided<S> b, T *c, int64_t ldc, GemmStart start, const T *bias,
          void *workspace) {
  if (plan.m == 0 || plan.n == 0)
    return;
  if (plan.k == 0) {
    startOnly(plan, c, ldc, start, bias);
    return;
  }
  auto packA = [&](T *dst, int width, int64_t row, int64_t rows, int64_t k0, int64_t length) {
    packPanel(dst, width, a.at(row, k0), rows, length);
  };
  Strided<S> columnsOfB = b.transposed();
  auto packB = [&](T *dst, int width, int64_t column, int64_t columns, int64_t k0, int64_t length) {
    packPanel(dst, width, columnsOfB.at(column, k0), columns, length);
  };
  gemmBlocked(plan, packA, packB, c, ldc, start, bias, workspace);
}

template GemmPlan planGemm<float>(int64_t, int64_t, int64_t, int);
template GemmPlan planGemm<double>(int64_t, int64_t, int64_t, int);
template void gemm(const GemmPlan &, Strided<float>, Strided<float>, float *, int64_t, GemmStart,
                   const float *, void *);
template void gemm(const GemmPlan &, Strided<BFloat16>, Strided<BFloat16>, float *, int64_t, GemmStart,
                   const float *, void *);
template void gemm(const GemmPlan &, Strided<Float16>, Strided<Float16>, float *, int64_t, GemmStart,
                   const float *, void *);
template void gemm(const GemmPlan &, Strided<double>, Strided<double>, double *, int64_t, GemmStart,
                   const double *, void *);

} // namespace kedge::rt::cpu
