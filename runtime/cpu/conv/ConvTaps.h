// Reads rows of the im2col matrix from an image.
#pragma once
#include "runtime/calls/ConvShape.h"
#include "runtime/cpu/conv/StencilRows.h"
#include <algorithm>

namespace kedge::rt::cpu {
using namespace calls;

/// `length` neighbours along the width, in one row of a space.
struct Segment {
  int64_t at; ///< position of the first in the list of columns
  int64_t d, h, w, length;
};

/// Cuts positions [begin, begin + count) of a space into rows. Returns the number of segments.
inline int64_t cutRows(const Space &space, int64_t begin, int64_t count, Segment *segments) {
  int64_t w = begin % space[2], row = begin / space[2], n = 0;
  for (int64_t at = 0; at < count; w = 0, ++row) {
    int64_t length = std::min(count - at, space[2] - w);
    segments[n++] = {at, row / space[1], row % space[1], w, length};
    at += length;
  }
  return n;
}

/// For the margins of rows, which are short: without a call.
template <typename T> void zero(T *dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    dst[i] = T(0);
}

/// dst[i] = src[2 * i]
template <typename S, typename T> void readSecond(const S *src, int64_t count, T *dst) {
  if constexpr (std::is_same_v<S, T> && std::is_floating_point_v<T>)
    return stencilRows<T>().everySecond(1, count, src, 0, dst, 0);
  for (int64_t i = 0; i < count; ++i)
    dst[i] = static_cast<T>(src[2 * i]);
}

/// Sets dst[i] to X at the place that tap (td, th, tw) reads for output position segment + i; 0 in the
/// padding.
template <typename S, typename T>
void readTap(const ConvShape &c, const S *image, const Segment &s, int64_t td, int64_t th, int64_t tw,
             T *dst) {
  int64_t d = s.d * c.stride[0] + td * c.dilation[0] - c.pad[0];
  int64_t h = s.h * c.stride[1] + th * c.dilation[1] - c.pad[1];
  if (d < 0 || d >= c.in[0] || h < 0 || h >= c.in[1]) {
    std::fill_n(dst, s.length, T(0));
    return;
  }
  const S *row = image + (d * c.in[1] + h) * c.in[2];
  int64_t w = s.w * c.stride[2] + tw * c.dilation[2] - c.pad[2], step = c.stride[2];
  if (step == 1) { // no divisions, which take as long as a short row
    const int64_t first = std::clamp<int64_t>(-w, 0, s.length),
                  last = std::clamp(c.in[2] - w, first, s.length);
    zero(dst, first);
    for (int64_t i = first; i < last; ++i)
      dst[i] = static_cast<T>(row[w + i]);
    return zero(dst + last, s.length - last);
  }
  if (step == 2) {
    const int64_t first = w >= 0 ? 0 : std::min(s.length, (1 - w) / 2),
                  last = std::clamp((c.in[2] - w + 1) >> 1, first, s.length);
    zero(dst, first);
    readSecond(row + w + 2 * first, last - first, dst + first);
    return zero(dst + last, s.length - last);
  }
  const int64_t first = w >= 0 ? 0 : std::min(s.length, (-w + step - 1) / step);
  const int64_t last = w >= c.in[2] ? first : std::clamp((c.in[2] - w + step - 1) / step, first, s.length);
  zero(dst, first);
  for (int64_t i = first; i < last; ++i)
    dst[i] = static_cast<T>(row[w + i * step]);
  zero(dst + last, s.length - last);
}

/// Sets dst[i] to dY at the output position for which tap (td, th,
/// tw) reads input position segment + i; 0 where there is none.
template <typename S, typename T>
void readTapBack(const ConvShape &c, const S *image, const Segment &s, int64_t td, int64_t th, int64_t tw,
                 T *dst) {
  int64_t d = s.d + c.pad[0] - td * c.dilation[0], h = s.h + c.pad[1] - th * c.dilation[1];
  bool inside = d >= 0 && h >= 0 && d % c.stride[0] == 0 && h % c.stride[1] == 0 &&
                d / c.stride[0] < c.out[0] && h / c.stride[1] < c.out[1];
  if (!inside || c.stride[2] != 1)
    std::fill_n(dst, s.length, T(0));
  if (!inside)
    return;
  const S *row = image + (d / c.stride[0] * c.out[1] + h / c.stride[1]) * c.out[2];
  int64_t w = s.w + c.pad[2] - tw * c.dilation[2], step = c.stride[2];
  if (step == 1) {
    int64_t first = std::clamp<int64_t>(-w, 0, s.length), last = std::clamp(c.out[2] - w, first, s.length);
    zero(dst, first);
    for (int64_t i = first; i < last; ++i)
      dst[i] = static_cast<T>(row[w + i]);
    return zero(dst + last, s.length - last);
  }
  for (int64_t i = ((-w) % step + step) % step; i < s.length; i += step)
    if (w + i >= 0 && (w + i) / step < c.out[2])
      dst[i] = static_cast<T>(row[(w + i) / step]);
}

} // namespace kedge::rt::cpu
