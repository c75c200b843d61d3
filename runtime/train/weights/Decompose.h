// The first parts of a matrix, by its singular values or by its QR decomposition, in double.
#pragma once
#include <cstdint>
#include <vector>

namespace kedge::rt {

/// Rows one behind the other.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<double> values;

  Matrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), values(static_cast<size_t>(rows * columns)) {}
  double &at(int64_t row, int64_t column) { return values[static_cast<size_t>(row * columns + column)]; }
  double at(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * columns + column)]; }
};

/// left right, of a common rank.
struct MatrixParts {
  Matrix left, right;
};

/// The `rank` largest singular values with their vectors; each side has the roots of the values.
MatrixParts largestSingularParts(const Matrix &matrix, int64_t rank, int threads);
/// The first `rank` columns of Q and rows of R.
MatrixParts firstOrthogonalParts(const Matrix &matrix, int64_t rank, int threads);
/// left right, in parallel over rows.
Matrix product(const Matrix &left, const Matrix &right, int threads);

} // namespace kedge::rt
