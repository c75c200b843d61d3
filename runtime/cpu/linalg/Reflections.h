// Householder's reflections, many at a time: products of matrices in the place of one pass a reflection.
#pragma once
#include "runtime/cpu/gemm/Gemm.h"
#include "runtime/cpu/linalg/BasisRows.h"

namespace kedge::rt::cpu {

/// I - beta v v' takes x to (alpha, 0, ..., 0); x becomes v. beta is 0 where there is nothing to reflect.
struct Reflection {
  double beta = 0, alpha = 0;
};
Reflection reflect(double *x, int64_t count);

/// Reflections by v_k, row k of `rows`, n numbers with zeros in front of place k + `offset`. Those of a block
/// are I - V' T V: V their rows, T a triangle.
class Reflections {
public:
  static constexpr int64_t kBlock = 32;

  /// Numbers of scratch: triangles, two strips, memory of products.
  static size_t scratchNumbers(int64_t n, int threads);
  Reflections(int64_t n, int64_t offset, double *rows, double *scratch, int threads);

  int64_t count() const { return n_ - offset_; } ///< of reflections, the last of which does nothing
  /// The factor of reflection k, which is known before its block is finished.
  void set(int64_t k, double beta) { triangle(k)[k % kBlock * (kBlock + 1)] = beta; }
  /// All reflections of the block at `first` are set.
  void finishBlock(int64_t first);
  /// Rows [begin, n) of `x` become H_last ... H_first x, x taken as columns.
  void apply(int64_t first, double *x, int64_t begin) const { applyBlock(first, x, begin, false); }
  /// Columns of H_0 H_1 ..., as rows of `basis`.
  void formBasis(double *basis) const;
  /// C += A B; memory of products is free between calls.
  void addProduct(int64_t m, int64_t n, int64_t k, Strided<double> a, Strided<double> b, double *c) const;

private:
  int64_t sizeOf(int64_t first) const { return std::min(kBlock, count() - first); }
  double *triangle(int64_t k) const { return triangles_ + k / kBlock * kBlock * kBlock; }
  void applyBlock(int64_t first, double *x, int64_t begin, bool backwards) const;
  void multiply(int64_t m, int64_t n, int64_t k, Strided<double> a, Strided<double> b, double *c, int64_t ldc,
                GemmStart start) const;

  const int64_t n_, offset_;
  double *const rows_, *const triangles_, *const sums_, *const turned_;
  void *const workspace_;
  const int threads_;
};

/// The first place from `numbers` on where a vector of any machine may begin; up to kAlignNumbers are left
/// out.
double *alignedNumbers(double *numbers);
constexpr int64_t kAlignNumbers = 8;

/// Bytes for products of up to n x n x n of which one size is n, or kBlock, and another at most n.
size_t productBytes(int64_t n, int threads);

} // namespace kedge::rt::cpu
