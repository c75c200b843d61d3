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
constexpr int64_t kStencilLanes = 16;  ///< sums of a tap, side by side in a vector

template <typename T> struct StencilRows {
  /// result[r * resultPitch + i] = start + sum of weights[t] * tap t, in the order of taps.
  void (*sums)(const StencilTaps<T> &taps, const T *weights, T start, T *result, int64_t resultPitch);
  /// Adds the sum over all elements of (tap t times other[r * width + i]) to lanes[t * kStencilLanes ...],
  /// spread over them.
  void (*dots)(const StencilTaps<T> &taps, const T *other, T *lanes);
  /// dst[r * dstPitch + i] = src[r * srcPitch + i]
  void (*copy)(int64_t rows, int64_t width, const T *src, int64_t srcPitch, T *dst, int64_t dstPitch);
  /// dst[r * dstPitch + i] = src[r * srcPitch + 2 * i]
  void (*everySecond)(int64_t rows, int64_t width, const T *src, int64_t srcPitch, T *dst, int64_t dstPitch);
  /// Rows of `width` elements, from even[r * pitch] and odd[r * pitch] in turns.
  void (*inTurns)(int64_t rows, int64_t width, const T *even, const T *odd, int64_t pitch, T *dst,
                  int64_t dstPitch);
};

template <typename T> const StencilRows<T> &stencilRows();

StencilRows<float> stencilRowsAvx512F32();
StencilRows<double> stencilRowsAvx512F64();
StencilRows<float> stencilRowsAvx2F32();
StencilRows<double> stencilRowsAvx2F64();
StencilRows<float> stencilRowsSve256F32();
StencilRows<double> stencilRowsSve256F64();
StencilRows<float> stencilRowsBaseF32();
StencilRows<double> stencilRowsBaseF64();

} // namespace kedge::rt::cpu
