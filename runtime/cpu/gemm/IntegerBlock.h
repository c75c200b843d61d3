// A product of 8-bit integers, some rows at a time, exact modulo 2^32.
#pragma once
#include "runtime/cpu/gemm/IntegerTile.h"
#include "runtime/format/Tensor.h"
#include <algorithm>
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

  IntegerBlock(IntegerMatrix a, DType typeB, int64_t k) : a_(a), typeB_(typeB), k_(k) {}

  /// Products of rows [first, first + rows) of A, rows <= kRows, with columns of B, columns <=
  /// kIntegerColumns. `rowOfB(q)` is row q of these columns; it is read before the next is asked for.
  template <typename RowOfB> void multiply(int64_t first, int64_t rows, int64_t columns, RowOfB rowOfB) {
    sums_.fill(0), rowSums_.fill(0), columnSums_.fill(0);
    for (int64_t q = 0; q < k_; q += kDepth) {
      const int64_t depth = std::min(kDepth, k_ - q);
      const int64_t padded = (depth + tile_.depth - 1) / tile_.depth * tile_.depth;
      packRows(first, rows, q, depth, padded);
      columns_.fill(0); // what is beside the matrix; below it are rows of A that are 0
      for (int64_t p = 0; p < depth; ++p)
        packColumns(rowOfB(q + p), columns, p);
      addMatmuls(rows, padded);
    }
  }

  /// Sum over q of (a[i][q] - zeroA) (b[q][j] - zeroB), i and j counted within what was multiplied.
  int32_t sum(int64_t i, int64_t j, int64_t zeroA, int64_t zeroB) const;

private:
  static constexpr int64_t kDepth = 512;

  void packRows(int64_t first, int64_t rows, int64_t q, int64_t depth, int64_t padded);
  void packColumns(const uint8_t *row, int64_t columns, int64_t p);
  void addMatmuls(int64_t rows, int64_t k);

  IntegerMatrix a_;
  DType typeB_;
  int64_t k_;
  const IntegerTile &tile_ = integerTile();
  std::array<int8_t, kRows * kDepth> rows_;
  std::array<int8_t, kIntegerColumns * kDepth> columns_;
  std::array<uint32_t, kRows * kIntegerColumns> sums_;
  std::array<uint32_t, kRows> rowSums_;
  std::array<uint32_t, kIntegerColumns> columnSums_;
};

} // namespace kedge::rt::cpu
