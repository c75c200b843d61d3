// Where the windows of a pooling op lie, and the plain walk over them: result by result, tap by tap.
#pragma once
#include "runtime/calls/PoolShape.h"
#include <algorithm>
#include <array>
#include <vector>

namespace kedge::rt::cpu {
using namespace calls;

/// Where windows lie along each dimension, found once: a division an element costs more than its window.
struct Windows {
  struct Range {
    int64_t start, low, high; ///< the first tap's place, and the taps inside the image
    int64_t padded;           ///< number of taps inside the padded image
  };
  PoolShape p;
  std::array<std::vector<Range>, 3> axes;

  explicit Windows(const PoolShape &shape) : p(shape) {
    for (size_t i = 0; i < 3; ++i)
      for (int64_t o = 0; o < p.out[i]; ++o)
        axes[i].push_back(rangeOf(i, o));
  }

private:
  Range rangeOf(size_t i, int64_t o) const {
    const int64_t start = o * p.stride[i] - p.pad[i], step = p.dilation[i];
    const int64_t low = start >= 0 ? 0 : (-start + step - 1) / step;
    const int64_t high =
        std::clamp<int64_t>((p.in[i] - start + step - 1) / step, low, std::max(low, p.kernel[i]));
    const int64_t padded =
        std::clamp<int64_t>((p.in[i] + p.padEnd[i] - start + step - 1) / step, 0, p.kernel[i]);
    return {start, low, high, padded};
  }
};

/// One result of a plane and its window.
struct PoolWindow {
  int64_t number;
  const Windows::Range &d, &h, &w;
};

/// f(window) for all results of a plane, in order.
template <typename F> void forWindows(const Windows &all, F &&f) {
  int64_t number = 0;
  for (const Windows::Range &d : all.axes[0])
    for (const Windows::Range &h : all.axes[1])
      for (const Windows::Range &w : all.axes[2])
        f(PoolWindow{number++, d, h, w});
}

/// Calls f(input place) for the taps of a window that lie inside the image; returns the number of taps inside
/// the padded image.
template <typename F> int64_t forTaps(const PoolShape &p, const PoolWindow &o, F &&f) {
  for (int64_t d = o.d.low; d < o.d.high; ++d)
    for (int64_t h = o.h.low; h < o.h.high; ++h) {
      const int64_t row =
          ((o.d.start + d * p.dilation[0]) * p.in[1] + o.h.start + h * p.dilation[1]) * p.in[2] + o.w.start;
      for (int64_t w = o.w.low; w < o.w.high; ++w)
        f(row + w * p.dilation[2]);
    }
  return o.d.padded * o.h.padded * o.w.padded;
}

} // namespace kedge::rt::cpu
