// Shapes of pooling ops over [N, C, 1 to 3 spatial sizes].
#pragma once
#include "runtime/calls/ConvShape.h"
#include <limits>

namespace kedge::rt::calls {

/// A plane is one channel of one image.
struct PoolShape {
  int64_t planes;
  Space in, out, kernel, stride, dilation, pad, padEnd;

  int64_t inSize() const { return in[0] * in[1] * in[2]; }
  int64_t outSize() const { return out[0] * out[1] * out[2]; }
  double windows() const { return static_cast<double>(planes * outSize()); }
  double taps() const { return windows() * static_cast<double>(kernel[0] * kernel[1] * kernel[2]); }
  /// Maxima are found along rows. Shorter rows have nothing to do at once; places of larger planes do not
  /// fit.
  bool hasRows() const {
    constexpr int64_t kShortestRow = 4;
    return out[2] >= kShortestRow && inSize() <= std::numeric_limits<int32_t>::max();
  }
  /// One operation for every tap of every window.
  CallWork work() const { return irregularWork(taps()); }
  /// Windows of a row at once, in vectors: two comparisons and two choices for every tap.
  CallWork workByRows() const { return {CallWork::Kind::Vector, 4 * taps(), 0, {}, {}, 0}; }
};

/// x: the tensor that the windows slide over. y: one element for each window. Reads kernel_shape, strides,
/// pads, dilations.
PoolShape readPool(const LibraryCall &call, const TensorDesc &x, const TensorDesc &y);

} // namespace kedge::rt::calls
