// Compiled for each instruction set.
#include "runtime/cpu/conv/DotTile.h"
#include "runtime/cpu/isa/EachIsa.h"
#include "runtime/cpu/isa/Vectors.inc"

namespace kedge::rt::cpu {
namespace {

/// As many sums as the registers hold beside a vector of each right row.
template <int Bytes> constexpr int kDotRows = kIsaRegisters == 32 ? 6 : 2;

template <typename T, int Bytes> inline T total(typename Wide<T, Bytes>::V value) {
  if constexpr (Bytes > kLeastBytes)
    return total<T, Bytes / 2>(halfOf<T, Bytes, 0>(value) + halfOf<T, Bytes, 1>(value));
  T sum = value[0];
  for (int i = 1; i < Wide<T, Bytes>::L; ++i)
    sum += value[i];
  return sum;
}

/// Missing rows are the last one again, and their sums go nowhere.
template <typename T, int Bytes>
void runDots(int64_t length, const T *left, int64_t leftPitch, const T *right, int64_t rightPitch, T *sums,
             int64_t sumPitch, int rows, int columns) {
  using W = Wide<T, Bytes>;
  using V = typename W::V;
  constexpr int L = W::L, R = kDotRows<Bytes>, C = kDotColumns;
  const T *a[R], *b[C];
  for (int r = 0; r < R; ++r)
    a[r] = left + (r < rows ? r : rows - 1) * leftPitch;
  for (int c = 0; c < C; ++c)
    b[c] = right + (c < columns ? c : columns - 1) * rightPitch;
  V totals[R][C] = {};
  int64_t i = 0;
  for (; i + L <= length; i += L) {
    V column[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c)
      column[c] = W::load(b[c] + i);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      const V row = W::load(a[r] + i);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c)
        totals[r][c] += row * column[c];
    }
  }
  if (i < length) { // the last whole vector, of which only the end is new
    V number = {};
    for (int k = 0; k < L; ++k)
      number[k] = static_cast<T>(k);
    const auto fresh = number >= V{} + static_cast<T>(L - (length - i));
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < C; ++c) {
        const V product = W::load(a[r] + length - L) * W::load(b[c] + length - L);
        totals[r][c] = fresh ? totals[r][c] + product : totals[r][c];
      }
  }
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      sums[r * sumPitch + c] += total<T, Bytes>(totals[r][c]);
}

template <typename T, int Bytes> DotTile<T> makeDots() { return {kDotRows<Bytes>, runDots<T, Bytes>}; }

} // namespace

DotTile<float> KEDGE_FOR_ISA(dotTile, F32)() { return makeDots<float, kIsaBytes>(); }
DotTile<double> KEDGE_FOR_ISA(dotTile, F64)() { return makeDots<double, kIsaBytes>(); }

} // namespace kedge::rt::cpu
