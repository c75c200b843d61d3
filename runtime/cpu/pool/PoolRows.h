// Largest elements of the windows of a row of results; compiled for each instruction set
// like GemmTile. Includes only <cstdint>, for the reason given in GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

/// Counts the elements of a plane: as wide as T, so that vectors of both have as many lanes.
template <typename T> struct PoolIndexOf;
template <> struct PoolIndexOf<float> {
  using type = int32_t;
};
template <> struct PoolIndexOf<double> {
  using type = int64_t;
};
template <typename T> using PoolIndex = typename PoolIndexOf<T>::type;

/// A tap of the windows of a row of results. It lies inside the image for results [first, first + count):
/// result first + i reads element at + i * stride of the image's row.
struct PoolTap {
  int64_t first, count, at;
};

/// The image's row, whose first element is place `place` of the plane, and the taps that read it, in order.
template <typename T> struct PoolTaps {
  const T *row;
  PoolIndex<T> place;
  const PoolTap *taps;
  int64_t count, stride;
};

/// Each takes a larger element over into top, a NaN as the largest of all; of equal ones the first stays.
template <typename T> struct PoolRows {
  void (*values)(const PoolTaps<T> &taps, T *top);
  /// best[o]: the place of top[o]
  void (*places)(const PoolTaps<T> &taps, T *top, PoolIndex<T> *best);
};

template <typename T> const PoolRows<T> &poolRows();

PoolRows<float> poolRowsAvx512F32();
PoolRows<double> poolRowsAvx512F64();
PoolRows<float> poolRowsAvx2F32();
PoolRows<double> poolRowsAvx2F64();
PoolRows<float> poolRowsSve256F32();
PoolRows<double> poolRowsSve256F64();
PoolRows<float> poolRowsBaseF32();
PoolRows<double> poolRowsBaseF64();

} // namespace kedge::rt::cpu
