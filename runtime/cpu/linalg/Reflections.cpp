#include "runtime/cpu/linalg/Reflections.h"
#include <cmath>

namespace kedge::rt::cpu {

Reflection reflect(double *x, int64_t count) {
  const BasisRows &rows = basisRows();
  Reflection made{0, x[0]};
  const double rest = rows.dot(x + 1, x + 1, count - 1);
  if (!(rest > 0))
    return made;
  const double norm = std::sqrt(x[0] * x[0] + rest);
  made.alpha = x[0] > 0 ? -norm : norm;
  x[0] -= made.alpha;
  made.beta = 2 / (x[0] * x[0] + rest);
  return made;
}

size_t productBytes(int64_t n, int threads) {
  constexpr int64_t block = Reflections::kBlock;
  size_t bytes = gemmWorkspaceBytes<double>(n, n, n, threads, false);
  for (int64_t size = n; size > 0; size -= block) {
    bytes = std::max(bytes, gemmWorkspaceBytes<double>(size, block, size, threads, false));
    bytes = std::max(bytes, gemmWorkspaceBytes<double>(size, size, block, threads, false));
    const int64_t last = n % block;
    if (last == 0)
      continue;
    bytes = std::max(bytes, gemmWorkspaceBytes<double>(size, last, size, threads, false));
    bytes = std::max(bytes, gemmWorkspaceBytes<double>(size, size, last, threads, false));
  }
  return alignedBytes(bytes);
}

double *alignedNumbers(double *numbers) {
  constexpr uintptr_t bytes = kAlignNumbers * sizeof(double);
  return reinterpret_cast<double *>((reinterpret_cast<uintptr_t>(numbers) + bytes - 1) / bytes * bytes);
}

namespace {
int64_t blocksOf(int64_t n) { return (n + Reflections::kBlock - 1) / Reflections::kBlock; }
} // namespace

size_t Reflections::scratchNumbers(int64_t n, int threads) {
  const int64_t strips = 2 * n * kBlock, triangles = blocksOf(n) * kBlock * kBlock;
  return static_cast<size_t>(strips + triangles + kAlignNumbers) + productBytes(n, threads) / sizeof(double);
}

Reflections::Reflections(int64_t n, int64_t offset, double *rows, double *scratch, int threads)
    : n_(n), offset_(offset), rows_(rows), triangles_(scratch),
      sums_(scratch + blocksOf(n) * kBlock * kBlock), turned_(sums_ + n * kBlock),
      workspace_(alignedNumbers(turned_ + n * kBlock)), threads_(threads) {}

void Reflections::multiply(int64_t m, int64_t n, int64_t k, Strided<double> a, Strided<double> b, double *c,
                           int64_t ldc, GemmStart start) const {
  const double *bias = nullptr;
  const GemmFinish<double> *finish = nullptr;
  gemm<double>(planGemm<double>(m, n, k, threads_), a, b, c, ldc, start, bias, finish, workspace_);
}

void Reflections::addProduct(int64_t m, int64_t n, int64_t k, Strided<double> a, Strided<double> b,
                             double *c) const {
  multiply(m, n, k, a, b, c, n_, GemmStart::Keep);
}

/// Column j of T: beta_j, and above it -beta_j T (V v_j).
void Reflections::finishBlock(int64_t first) {
  double *t = triangle(first);
  const int64_t size = sizeOf(first), begin = first + offset_;
  for (int64_t j = 0; j < size; ++j) {
    const double beta = t[j * kBlock + j], *v = rows_ + (first + j) * n_ + begin;
    double products[kBlock];
    for (int64_t i = 0; i < j; ++i)
      products[i] = basisRows().dot(rows_ + (first + i) * n_ + begin, v, n_ - begin);
    for (int64_t i = 0; i < j; ++i) {
      double sum = 0;
      for (int64_t k = i; k < j; ++k)
        sum += t[i * kBlock + k] * products[k];
      t[i * kBlock + j] = -beta * sum;
    }
  }
}

/// x (I - V' T V) for rows x, or with T' where reflections go from the last to the first.
void Reflections::applyBlock(int64_t first, double *x, int64_t begin, bool backwards) const {
  const int64_t size = sizeOf(first), from = first + offset_, length = n_ - from, count = n_ - begin;
  if (count <= 0 || size <= 0)
    return;
  const double *v = rows_ + first * n_ + from, *t = triangle(first);
  double *target = x + begin * n_ + from;
  multiply(count, size, length, {target, n_, 1}, {v, 1, n_}, sums_, size, GemmStart::Zero);
  parallelFor(threads_, count, 256, [&](int64_t rowBegin, int64_t rowEnd) {
    for (int64_t row = rowBegin; row < rowEnd; ++row)
      for (int64_t j = 0; j < size; ++j) {
        double sum = 0;
        for (int64_t i = backwards ? j : 0; i < (backwards ? size : j + 1); ++i)
          sum -= sums_[row * size + i] * (backwards ? t[j * kBlock + i] : t[i * kBlock + j]);
        turned_[row * size + j] = sum;
      }
  });
  addProduct(count, length, size, {turned_, size, 1}, {v, n_, 1}, target);
}

void Reflections::formBasis(double *basis) const {
  std::fill(basis, basis + n_ * n_, 0.0);
  for (int64_t k = 0; k < n_; ++k)
    basis[k * n_ + k] = 1;
  if (count() <= 0)
    return;
  for (int64_t first = (count() - 1) / kBlock * kBlock; first >= 0; first -= kBlock)
    applyBlock(first, basis, first + offset_, true);
}

} // namespace kedge::rt::cpu
