#include "runtime/cpu/linalg/Orthogonal.h"
#include "runtime/cpu/linalg/Reflections.h"
#include <cmath>
#include <limits>
#include <numeric>

namespace kedge::rt::cpu {
namespace {

constexpr int64_t kElementsOfPart = 1 << 15;
constexpr int64_t kSweepsAtOnce = 32;

/// For each row from `begin` to `end`, shared among threads; rows have `length` numbers.
template <typename Body> void forRows(int threads, int64_t begin, int64_t end, int64_t length, Body &&body) {
  const int64_t grain = std::max<int64_t>(1, kElementsOfPart / std::max<int64_t>(1, length));
  parallelFor(threads, end - begin, grain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row)
      body(begin + row);
  });
}

/// A symmetric matrix on its way to three diagonals. Reflections of a block are known before the rows behind
/// it are updated: A - V W' - W V' of its vectors.
class ThreeDiagonals {
public:
  ThreeDiagonals(int64_t n, double *matrix, double *diagonal, double *beside, double *scratch, int threads)
      : n_(n), a_(matrix), d_(diagonal), e_(beside), minusW_(scratch),
        sums_(scratch + Reflections::kBlock * n), threads_(threads) {}
  static int64_t scratchNumbers(int64_t n) { return (Reflections::kBlock + 1) * n; }

  void reduce(Reflections &reflections) {
    for (int64_t first = 0; first + 1 < n_; first += Reflections::kBlock) {
      const int64_t size = std::min(Reflections::kBlock, n_ - 1 - first), behind = first + size;
      for (int64_t k = first; k < behind; ++k)
        reflections.set(k, reduceRow(first, k));
      reflections.finishBlock(first);
      const Strided<double> v{a_ + first * n_ + behind, n_, 1}, w{minusW_ + behind, n_, 1};
      double *rest = a_ + behind * n_ + behind;
      reflections.addProduct(n_ - behind, n_ - behind, size, v.transposed(), w, rest);
      reflections.addProduct(n_ - behind, n_ - behind, size, w.transposed(), v, rest);
    }
    if (n_ > 0)
      d_[n_ - 1] = a_[n_ * n_ - 1];
  }

private:
  /// Row k and what its reflection does to both sides; its factor.
  double reduceRow(int64_t first, int64_t k) {
    double *row = a_ + k * n_, *v = row + k + 1;
    for (int64_t i = first; i < k; ++i) {
      const double *vi = a_ + i * n_, *wi = minusW_ + (i - first) * n_;
      rows_.subtract(row + k, -vi[k], wi + k, n_ - k);
      rows_.subtract(row + k, -wi[k], vi + k, n_ - k);
    }
    d_[k] = row[k];
    const Reflection made = reflect(v, n_ - k - 1);
    e_[k] = made.alpha;
    std::fill(row + first + 1, row + k + 1, 0.0);
    moveBothSides(first, k, made.beta, v);
    return made.beta;
  }

  void moveBothSides(int64_t first, int64_t k, double beta, const double *v) {
    const int64_t begin = k + 1, rest = n_ - begin;
    double *p = sums_;
    forRows(threads_, begin, n_, rest,
            [&](int64_t row) { p[row - begin] = rows_.dot(a_ + row * n_ + begin, v, rest); });
    for (int64_t i = first; i < k; ++i) {
      const double *vi = a_ + i * n_ + begin, *wi = minusW_ + (i - first) * n_ + begin;
      const double alongW = rows_.dot(wi, v, rest), alongV = rows_.dot(vi, v, rest);
      rows_.subtract(p, -alongW, vi, rest);
      rows_.subtract(p, -alongV, wi, rest);
    }
    const double half = beta * beta / 2 * rows_.dot(p, v, rest);
    double *w = minusW_ + (k - first) * n_ + begin;
    for (int64_t i = 0; i < rest; ++i)
      w[i] = half * v[i] - beta * p[i];
  }

  const int64_t n_;
  double *const a_, *const d_, *const e_, *const minusW_, *const sums_;
  const int threads_;
  const BasisRows &rows_ = basisRows();
};

/// Turns of rows that wait until there are many, then are made strip by strip of columns.
class WaitingTurns {
public:
  WaitingTurns(int64_t n, double *rows, double *scratch, int threads)
      : n_(n), rows_(rows), turns_(reinterpret_cast<Turn *>(scratch)),
        strips_(scratch + 2 * kSweepsAtOnce * n), threads_(threads) {}
  static int64_t scratchNumbers(int64_t n, int threads) {
    return (2 * kSweepsAtOnce + kTurnedColumns * threads) * n;
  }

  Turn *next(int64_t first, int64_t last) {
    if (count_ == kSweepsAtOnce)
      make();
    Turn *turns = turns_ + count_ * n_;
    sweeps_[count_++] = {first, last, turns};
    return turns;
  }

  void make() {
    const int64_t strips = (n_ + kTurnedColumns - 1) / kTurnedColumns;
    parallelParts(threads_, strips, [&](int64_t strip) {
      double *held = strips_ + threadSlot() * n_ * kTurnedColumns;
      const int64_t column = strip * kTurnedColumns, columns = std::min(kTurnedColumns, n_ - column);
      for (int64_t row = 0; row < n_; ++row) {
        std::copy_n(rows_ + row * n_ + column, columns, held + row * kTurnedColumns);
        std::fill(held + row * kTurnedColumns + columns, held + (row + 1) * kTurnedColumns, 0.0);
      }
      basisRows().turn(held, sweeps_, count_);
      for (int64_t row = 0; row < n_; ++row)
        std::copy_n(held + row * kTurnedColumns, columns, rows_ + row * n_ + column);
    });
    count_ = 0;
  }

private:
  const int64_t n_;
  double *const rows_;
  Turn *const turns_;
  double *const strips_;
  const int threads_;
  TurnSweep sweeps_[kSweepsAtOnce];
  int64_t count_ = 0;
};

/// One QR step of the block from `low` to `high` of the matrix with the diagonals d and e.
void shiftedStep(int64_t low, int64_t high, double *d, double *e, Turn *turns) {
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
    turns[k] = {c, s};
  }
}

bool isNegligible(const double *d, const double *e, int64_t k) {
  return std::abs(e[k]) <= std::numeric_limits<double>::epsilon() * (std::abs(d[k]) + std::abs(d[k + 1]));
}

void diagonalise(int64_t n, double *d, double *e, WaitingTurns &turns) {
  int64_t left = 40 * n; // steps; two for a value are usual, and a NaN needs any number
  for (int64_t high = n - 1; high > 0 && left > 0;) {
    if (isNegligible(d, e, high - 1)) {
      --high;
      continue;
    }
    int64_t low = high - 1;
    while (low > 0 && !isNegligible(d, e, low - 1))
      --low;
    shiftedStep(low, high, d, e, turns.next(low, high));
    --left;
  }
  turns.make();
}

} // namespace

size_t orthogonalScratch(int64_t n, int threads) {
  return Reflections::scratchNumbers(n, threads) + static_cast<size_t>(n) +
         static_cast<size_t>(
             std::max(ThreeDiagonals::scratchNumbers(n), WaitingTurns::scratchNumbers(n, threads)));
}

void symmetricEigenvectors(int64_t n, double *matrix, double *values, double *vectors, double *scratch,
                           int threads) {
  double *beside = scratch + Reflections::scratchNumbers(n, threads), *rest = beside + n;
  Reflections reflections(n, 1, matrix, scratch, threads);
  ThreeDiagonals(n, matrix, values, beside, rest, threads).reduce(reflections);
  reflections.formBasis(vectors);
  WaitingTurns turns(n, vectors, rest, threads);
  diagonalise(n, values, beside, turns);
}

void orthogonalBasis(int64_t n, double *rows, double *basis, double *scratch, int threads) {
  const BasisRows &loops = basisRows();
  Reflections reflections(n, 0, rows, scratch, threads);
  for (int64_t first = 0; first < n; first += Reflections::kBlock) {
    const int64_t behind = std::min(n, first + Reflections::kBlock);
    for (int64_t k = first; k < behind; ++k) {
      double *v = rows + k * n + k;
      const double beta = reflect(v, n - k).beta;
      reflections.set(k, beta);
      for (int64_t row = k + 1; row < behind; ++row) {
        double *x = rows + row * n + k;
        loops.subtract(x, beta * loops.dot(v, x, n - k), v, n - k);
      }
      std::fill(rows + k * n + first, v, 0.0);
    }
    reflections.finishBlock(first);
    reflections.apply(first, rows, behind);
  }
  reflections.formBasis(basis);
}

void sortByFalling(int64_t n, const double *values, int64_t *places) {
  std::iota(places, places + n, int64_t(0));
  std::sort(places, places + n, [&](int64_t a, int64_t b) { // without memory of the sort's own
    return values[a] > values[b] || (!(values[b] > values[a]) && a < b);
  });
}

void multiplySquares(int64_t n, const double *a, const double *b, double *to, double *scratch, int threads) {
  std::fill(to, to + n * n, 0.0);
  Reflections(n, 0, to, scratch, threads).addProduct(n, n, n, {a, n, 1}, {b, n, 1}, to);
}

} // namespace kedge::rt::cpu
