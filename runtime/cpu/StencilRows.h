// Sums over the taps of a stencil along rows; compiled for each instruction set
// like GemmTile. Includes only <cstdint>, for the reason given in GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

/// Element (r, i) of tap t is from[t][r * pitch + i]; r < rows, i < width.
template <typename T> struct StencilTaps {
  int64_t count;
  const T *const *from;
  int64_t pitch, rows, width;
};

constexpr int64_t kBehindStencil = 16; ///< elements that `dots` may read after the last one

template <typename T> struct StencilRows {
  /// result[r * resultPitch + i] = start + sum of weights[t] * tap t, in the order of taps.
  void (*sums)(const StencilTaps<T> &taps, const T *weights, T start, T *result, int64_t resultPitch);
  /// totals[t] += sum over all elements of (tap t times other[r * width + i]).
  void (*dots)(const StencilTaps<T> &taps, const T *other, T *totals);
};

template <typename T> const StencilRows<T> &stencilRows();

StencilRows<float> stencilRowsAvx512F32();
StencilRows<double> stencilRowsAvx512F64();
StencilRows<float> stencilRowsAvx2F32();
StencilRows<double> stencilRowsAvx2F64();
StencilRows<float> stencilRowsBaseF32();
StencilRows<double> stencilRowsBaseF64();

} // namespace kedge::rt::cpu
