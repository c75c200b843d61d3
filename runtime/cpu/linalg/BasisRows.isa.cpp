// Compiled for each instruction set.
#include "runtime/cpu/linalg/BasisRows.h"
#include "runtime/cpu/isa/EachIsa.h"
#include "runtime/cpu/isa/Vectors.inc"

namespace kedge::rt::cpu {
namespace {
using W = Wide<double, kIsaBytes>;
constexpr int kSums = 4; ///< that do not wait for each other

double dotOf(const double *a, const double *b, int64_t count) {
  W::V sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * W::L <= count; i += kSums * W::L)
    for (int k = 0; k < kSums; ++k)
      sums[k] += W::load(a + i + k * W::L) * W::load(b + i + k * W::L);
  for (; i + W::L <= count; i += W::L)
    sums[0] += W::load(a + i) * W::load(b + i);
  const W::V all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double sum = 0;
  for (int lane = 0; lane < W::L; ++lane)
    sum += all[lane];
  for (; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

void subtractFrom(double *from, double factor, const double *what, int64_t count) {
  int64_t i = 0;
  for (; i + W::L <= count; i += W::L)
    W::store(from + i, W::load(from + i) - factor * W::load(what + i));
  for (; i < count; ++i)
    from[i] -= factor * what[i];
}

/// The row that two turns have in common stays in registers between them.
constexpr int kCarried = 4;
constexpr int64_t kCarriedColumns = kCarried * W::L;

void turnStrip(double *rows, const TurnSweep &sweep) {
  W::V carried[kCarried];
  double *row = rows + sweep.first * kTurnedColumns;
  for (int k = 0; k < kCarried; ++k)
    carried[k] = W::load(row + k * W::L);
  for (int64_t at = sweep.first; at < sweep.last; ++at, row += kTurnedColumns) {
    const auto [c, s] = sweep.turns[at];
    for (int k = 0; k < kCarried; ++k) {
      const W::V next = W::load(row + kTurnedColumns + k * W::L);
      W::store(row + k * W::L, c * carried[k] + s * next);
      carried[k] = c * next - s * carried[k];
    }
  }
  for (int k = 0; k < kCarried; ++k)
    W::store(row + k * W::L, carried[k]);
}

void turnRows(double *rows, const TurnSweep *sweeps, int64_t count) {
  for (int64_t k = 0; k < count; ++k)
    for (int64_t column = 0; column < kTurnedColumns; column += kCarriedColumns)
      turnStrip(rows + column, sweeps[k]);
}
} // namespace

BasisRows KEDGE_FOR_ISA(basisRows, F64)() { return {dotOf, subtractFrom, turnRows}; }

} // namespace kedge::rt::cpu
