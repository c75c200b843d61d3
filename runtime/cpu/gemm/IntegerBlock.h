// A product of 8-bit integers, some rows at a time, exact modulo 2^32.
#pragma once
#include "runtime/cpu/gemm/IntegerTile.h"
#include "runtime/format/Tensor.h"
#include <array>
#include <cstdint>

namespace kedge::rt::cpu {

/// A row-major matrix of i8 or u8.
struct IntegerMatrix {
  const uint8_t *base;
  DType type;
  int64_t stride; ///< of rows
};

/// Of one thread. Unsigned elements are taken as their distance from 128, so that one kind of product does
/// for all; zero points are subtracted from the sums at the end.
class IntegerBlock {
public:
  static constexpr int64_t kRows = 32;

  IntegerBlock(IntegerMatrix a, IntegerMatrix b, int64_t k) : a_(a), b_(b), k_(k) {}

  /// Products of rows [first, first + rows) of A, rows <= kRows, with columns [column, column + columns) of
  /// B, columns <= kIntegerColumns.
  void multiply(int64_t first, int64_t rows, int64_t column, int64_t columns);

  /// Sum over q of (a[i][q] - zeroA) (b[q][j] - zeroB), i and j counted within what was multiplied.
  int32_t sum(int64_t i, int64_t j, int64_t zeroA, int64_t zeroB) const;

private:
  static constexpr int64_t kDepth = 512;

  void packRows(int64_t first, int64_t rows, int64_t q, int64_t depth, int64_t padded);
  void packColumns(int64_t column, int64_t columns, int64_t q, int64_t depth);
  void addProducts(int64_t rows, int64_t k);

  IntegerMatrix a_, b_;
  int64_t k_;
  const IntegerTile &tile_ = integerTile();
  std::array<int8_t, kRows * kDepth> rows_;
  std::array<int8_t, kIntegerColumns * kDepth> columns_;
  std::array<uint32_t, kRows * kIntegerColumns> sums_;
  std::array<uint32_t, kRows> rowSums_;
  std::array<uint32_t, kIntegerColumns> columnSums_;
};

} // namespace kedge::rt::cpu
