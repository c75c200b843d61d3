#include "runtime/cpu/linalg/Orthogonal.h"
#include "runtime/exec/ThreadPool.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge::rt::cpu {
namespace {

constexpr int64_t kElementsOfPart = 1 << 15;

/// For each row from `begin` to `end`, shared among threads; rows have `length` numbers.
template <typename Body>
void forRows(int threads, int64_t begin, int64_t end, int64_t length, Body &&body) {
  const int64_t grain = std::max<int64_t>(1, kElementsOfPart / std::max<int64_t>(1, length));
  parallelFor(threads, end - begin, grain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row)
      body(begin + row);
  });
}

double dot(const double *a, const double *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

void subtract(double *from, double factor, const double *what, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    from[i] -= factor * what[i];
}

/// I - beta v v' takes x to (alpha, 0, ..., 0); x becomes v. beta is 0 where there is nothing to reflect.
struct Reflection {
  double beta = 0, alpha = 0;
};

Reflection reflect(double *x, int64_t count) {
  const double norm = std::sqrt(dot(x, x, count));
  Reflection made{0, x[0]};
  if (!(norm > 0) || std::sqrt(dot(x + 1, x + 1, count - 1)) == 0)
    return made;
  made.alpha = x[0] > 0 ? -norm : norm;
  x[0] -= made.alpha;
  made.beta = 2 / dot(x, x, count);
  return made;
}

void setIdentity(double *matrix, int64_t n) {
  std::fill(matrix, matrix + n * n, 0.0);
  for (int64_t k = 0; k < n; ++k)
    matrix[k * n + k] = 1;
}

/// H A H on the rows and columns behind k, H = I - beta v v', v in row k of A; p: scratch.
void reflectBothSides(int64_t n, int64_t k, double beta, double *a, double *p, int threads) {
  const int64_t first = k + 1, rest = n - first;
  const double *v = a + k * n + first;
  forRows(threads, first, n, rest,
          [&](int64_t row) { p[row - first] = beta * dot(a + row * n + first, v, rest); });
  const double half = beta / 2 * dot(p, v, rest);
  for (int64_t i = 0; i < rest; ++i)
    p[i] -= half * v[i];
  forRows(threads, first, n, rest, [&](int64_t row) {
    double *own = a + row * n + first;
    const double vi = v[row - first], pi = p[row - first];
    for (int64_t j = 0; j < rest; ++j)
      own[j] -= vi * p[j] + pi * v[j];
  });
}

/// Rows behind k of `vectors` become H times them.
void reflectRows(int64_t n, int64_t k, double beta, const double *v, double *vectors, double *sums, int threads) {
  const int64_t first = k + 1;
  forRows(threads, 0, n, n - first, [&](int64_t column) {
    double sum = 0;
    for (int64_t row = first; row < n; ++row)
      sum += v[row - first] * vectors[row * n + column];
    sums[column] = beta * sum;
  });
  forRows(threads, first, n, n,
          [&](int64_t row) { subtract(vectors + row * n, v[row - first], sums, n); });
}

/// One QR step of the block from `low` to `high` of the matrix with the diagonals d and e.
void shiftedStep(int64_t n, int64_t low, int64_t high, double *d, double *e, double *vectors) {
  const double half = (d[high - 1] - d[high]) / 2, last = e[high - 1];
  const double shift = d[high] - last * last / (half + std::copysign(std::hypot(half, last), half));
  double x = d[low] - shift, z = e[low];
  for (int64_t k = low; k < high; ++k) {
    const double r = std::hypot(x, z), c = r > 0 ? x / r : 1, s = r > 0 ? z / r : 0;
    if (k > low)
      e[k - 1] = r;
    const double a = d[k], b = e[k], g = d[k + 1];
    d[k] = c * c * a + 2 * c * s * b + s * s * g;
    d[k + 1] = s * s * a - 2 * c * s * b + c * c * g;
    e[k] = c * s * (g - a) + (c * c - s * s) * b;
    if (k + 1 < high) {
      x = e[k];
      z = s * e[k + 1];
      e[k + 1] *= c;
    }
    double *one = vectors + k * n, *other = one + n;
    for (int64_t i = 0; i < n; ++i) {
      const double left = one[i], right = other[i];
      one[i] = c * left + s * right;
      other[i] = c * right - s * left;
    }
  }
}

bool isNegligible(const double *d, const double *e, int64_t k) {
  return std::abs(e[k]) <= std::numeric_limits<double>::epsilon() * (std::abs(d[k]) + std::abs(d[k + 1]));
}

} // namespace

void symmetricEigenvectors(int64_t n, double *matrix, double *values, double *vectors, double *scratch,
                           int threads) {
  double *e = scratch, *p = scratch + n;
  setIdentity(vectors, n);
  for (int64_t k = 0; k + 1 < n; ++k) {
    values[k] = matrix[k * n + k];
    double *v = matrix + k * n + k + 1;
    const Reflection made = reflect(v, n - k - 1);
    e[k] = made.alpha;
    if (made.beta == 0)
      continue;
    reflectBothSides(n, k, made.beta, matrix, p, threads);
    reflectRows(n, k, made.beta, v, vectors, p, threads);
  }
  if (n > 0)
    values[n - 1] = matrix[n * n - 1];
  int64_t left = 40 * n; // steps; two for a value are usual, and a NaN needs any number
  for (int64_t high = n - 1; high > 0 && left > 0;) {
    if (isNegligible(values, e, high - 1)) {
      --high;
      continue;
    }
    int64_t low = high - 1;
    while (low > 0 && !isNegligible(values, e, low - 1))
      --low;
    shiftedStep(n, low, high, values, e, vectors);
    --left;
  }
}

void orthogonalBasis(int64_t n, double *rows, double *basis, double *scratch, int threads) {
  for (int64_t k = 0; k < n; ++k) {
    double *v = rows + k * n + k;
    const double beta = n - k > 1 ? reflect(v, n - k).beta : 0;
    scratch[k] = beta;
    if (beta != 0)
      forRows(threads, k + 1, n, n - k, [&](int64_t row) {
        double *x = rows + row * n + k;
        subtract(x, beta * dot(v, x, n - k), v, n - k);
      });
  }
  setIdentity(basis, n);
  for (int64_t k = n - 1; k >= 0; --k)
    if (scratch[k] != 0)
      forRows(threads, k, n, n - k, [&](int64_t row) {
        double *x = basis + row * n + k;
        const double *v = rows + k * n + k;
        subtract(x, scratch[k] * dot(v, x, n - k), v, n - k);
      });
}

} // namespace kedge::rt::cpu
