#include "runtime/train/weights/Decompose.h"
#include "runtime/exec/ThreadPool.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace kedge::rt {
namespace {

Matrix transposed(const Matrix &matrix) {
  Matrix result(matrix.columns, matrix.rows);
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns; ++column)
      result.at(column, row) = matrix.at(row, column);
  return result;
}

/// Each row made orthogonal to those before, twice, and of length 1; one that depends on them becomes 0.
void orthonormalise(Matrix &rows) {
  for (int64_t k = 0; k < rows.rows; ++k) {
    double *own = &rows.at(k, 0);
    const auto length = [&] { return std::sqrt(std::inner_product(own, own + rows.columns, own, 0.0)); };
    const double before = length();
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < k; ++j) {
        const double *other = &rows.at(j, 0);
        const double along = std::inner_product(own, own + rows.columns, other, 0.0);
        for (int64_t i = 0; i < rows.columns; ++i)
          own[i] -= along * other[i];
      }
    const double left = length(), factor = left > 1e-13 * before ? 1 / left : 0;
    for (int64_t i = 0; i < rows.columns; ++i)
      own[i] *= factor;
  }
}

/// Jacobi's rotations; `symmetric` becomes diagonal, and the rows of what is returned are the vectors.
Matrix eigenvectors(Matrix &symmetric) {
  const int64_t n = symmetric.rows;
  Matrix vectors(n, n);
  for (int64_t k = 0; k < n; ++k)
    vectors.at(k, k) = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0, all = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        (i == j ? all : off) += symmetric.at(i, j) * symmetric.at(i, j);
    if (off <= 1e-30 * all)
      break;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        const double coupling = symmetric.at(p, q);
        if (coupling == 0)
          continue;
        const double theta = (symmetric.at(q, q) - symmetric.at(p, p)) / (2 * coupling);
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        const auto turn = [&](double &x, double &y) {
          const double old = x;
          x = c * old - s * y;
          y = s * old + c * y;
        };
        for (int64_t k = 0; k < n; ++k)
          turn(symmetric.at(k, p), symmetric.at(k, q));
        for (int64_t k = 0; k < n; ++k) {
          turn(symmetric.at(p, k), symmetric.at(q, k));
          turn(vectors.at(p, k), vectors.at(q, k));
        }
      }
  }
  return vectors;
}

/// Rows and their images turned so that the rows are nearest to eigenvectors, the largest first. Returns the
/// values.
std::vector<double> rotate(Matrix &rows, Matrix &images, int threads) {
  Matrix small = product(rows, transposed(images), threads);
  const Matrix vectors = eigenvectors(small);
  std::vector<int64_t> order(static_cast<size_t>(small.rows));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return small.at(a, a) > small.at(b, b); });
  Matrix sorted(vectors.rows, vectors.columns);
  std::vector<double> values;
  for (int64_t k = 0; k < vectors.rows; ++k) {
    const int64_t from = order[static_cast<size_t>(k)];
    std::copy_n(&vectors.values[static_cast<size_t>(from * vectors.columns)], vectors.columns,
                &sorted.at(k, 0));
    values.push_back(small.at(from, from));
  }
  rows = product(sorted, rows, threads);
  images = product(sorted, images, threads);
  return values;
}

/// A Chebyshev polynomial of the matrix times the rows: it is at most 1 in size up to the smallest of the
/// values, and grows fastest of all beyond. Of a degree that keeps the largest vectors from drowning the
/// others.
Matrix filtered(const Matrix &rows, const Matrix &images, const Matrix &symmetric,
                const std::vector<double> &values, int threads) {
  const double half = values.back() / 2;
  if (!(half > 0))
    return images;
  constexpr double kGrowth = 13.8; // e^13.8 is a million
  const double perDegree = std::acosh(std::max(1.0, values.front() / half - 1));
  const int degree = perDegree * 20 < kGrowth ? 20 : std::max(1, static_cast<int>(kGrowth / perDegree));
  const auto next = [&](const Matrix &product, const Matrix &last, double factor, const Matrix *before) {
    Matrix result(rows.rows, rows.columns);
    for (size_t at = 0; at < result.values.size(); ++at)
      result.values[at] =
          factor * (product.values[at] / half - last.values[at]) - (before ? before->values[at] : 0);
    return result;
  };
  Matrix before = rows, last = next(images, rows, 1, nullptr);
  for (int k = 2; k <= degree; ++k) {
    Matrix after = next(product(last, symmetric, threads), last, 2, &before);
    before = std::move(last);
    last = std::move(after);
  }
  return last;
}

bool areFound(const Matrix &rows, const Matrix &images, const std::vector<double> &values, int64_t wanted) {
  for (int64_t k = 0; k < wanted; ++k) {
    double squares = 0;
    for (int64_t i = 0; i < rows.columns; ++i) {
      const double off = images.at(k, i) - values[static_cast<size_t>(k)] * rows.at(k, i);
      squares += off * off;
    }
    if (std::sqrt(squares) > 1e-12 * values[0])
      return false;
  }
  return true;
}

/// Eigenvectors of the largest values, as rows: polynomials of the matrix draw a subspace towards them.
Matrix largestEigenvectors(const Matrix &symmetric, int64_t wanted, int threads) {
  const int64_t n = symmetric.rows, size = std::min(n, 2 * wanted + 32);
  constexpr int kMost = 300;
  Matrix rows(size, n);
  std::mt19937_64 numbers(1);
  for (double &value : rows.values)
    value = static_cast<double>(numbers() >> 11) * 0x1p-52 - 1;
  for (int turn = 0; turn < kMost; ++turn) {
    orthonormalise(rows);
    Matrix images = product(rows, symmetric, threads);
    const std::vector<double> values = rotate(rows, images, threads);
    if (size == n || areFound(rows, images, values, wanted))
      break;
    rows = filtered(rows, images, symmetric, values, threads);
  }
  Matrix found(wanted, n);
  orthonormalise(rows);
  std::copy_n(rows.values.begin(), found.values.size(), found.values.begin());
  return found;
}

} // namespace

Matrix product(const Matrix &left, const Matrix &right, int threads) {
  Matrix result(left.rows, right.columns);
  constexpr int64_t kRows = 4, kColumns = 512; // that stay in the cache
  parallelParts(threads, (left.rows + kRows - 1) / kRows, [&](int64_t part) {
    const int64_t last = std::min(left.rows, (part + 1) * kRows);
    for (int64_t first = 0; first < right.columns; first += kColumns) {
      const int64_t count = std::min(kColumns, right.columns - first);
      for (int64_t k = 0; k < left.columns; ++k) {
        const double *other = &right.values[static_cast<size_t>(k * right.columns + first)];
        for (int64_t row = part * kRows; row < last; ++row) {
          const double factor = left.at(row, k);
          double *sums = &result.at(row, first);
          for (int64_t column = 0; column < count; ++column)
            sums[column] += factor * other[column];
        }
      }
    }
  });
  return result;
}

MatrixParts largestSingularParts(const Matrix &matrix, int64_t rank, int threads) {
  const bool isWide = matrix.rows <= matrix.columns;
  const Matrix turned = transposed(matrix);
  // Rows of the shorter side.
  const Matrix &shorter = isWide ? matrix : turned, &longer = isWide ? turned : matrix;
  const Matrix vectors = largestEigenvectors(product(shorter, longer, threads), rank, threads);
  Matrix own = vectors, other = product(vectors, shorter, threads); // of length sigma
  for (int64_t k = 0; k < rank; ++k) {
    double *row = &other.at(k, 0);
    const double sigma = std::sqrt(std::inner_product(row, row + other.columns, row, 0.0)),
                 root = std::sqrt(sigma);
    for (int64_t i = 0; i < own.columns; ++i)
      own.at(k, i) *= root;
    for (int64_t i = 0; i < other.columns; ++i)
      row[i] *= sigma > 0 ? 1 / root : 0;
  }
  return isWide ? MatrixParts{transposed(own), other} : MatrixParts{transposed(other), own};
}

MatrixParts firstOrthogonalParts(const Matrix &matrix, int64_t rank, int threads) {
  Matrix columns(rank, matrix.rows);
  for (int64_t k = 0; k < rank; ++k)
    for (int64_t row = 0; row < matrix.rows; ++row)
      columns.at(k, row) = matrix.at(row, k);
  orthonormalise(columns);
  Matrix right = product(columns, matrix, threads);
  return {transposed(columns), std::move(right)};
}

} // namespace kedge::rt
