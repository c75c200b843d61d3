// Shapes of convolutions.
#pragma once
#include "runtime/calls/Call.h"
#include <array>

namespace kedge::rt::calls {

using Space = std::array<int64_t, 3>; ///< depth, height, width; missing leading dimensions are 1

constexpr int64_t kMostDepthwiseTaps = 256; ///< taps of all filters of one channel

/// X [batch, channels, in], W [filters, channels/groups, kernel], Y [batch, filters, out].
struct ConvShape {
  int64_t batch, channels, filters, groups;
  Space in, out, kernel, stride, dilation, pad; ///< pad: at the beginnings

  int64_t inSize() const { return in[0] * in[1] * in[2]; }
  int64_t outSize() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t groupChannels() const { return channels / groups; }
  int64_t groupFilters() const { return filters / groups; }
  /// Each filter sees one channel, and there are few per channel: computed as a stencil over planes, not as a
  /// product.
  bool isDepthwise() const {
    return groupChannels() == 1 && groupFilters() <= 4 && taps() * groupFilters() <= kMostDepthwiseTaps;
  }
  /// The same convolution with all positions in one long row, if each position reads only its own place.
  ConvShape withLongRows() const {
    constexpr Space ones{1, 1, 1};
    ConvShape c = *this;
    if (kernel == ones && stride == ones && pad == Space{} && in == out)
      c.in = c.out = {1, 1, inSize()};
    return c;
  }
  /// Work of the convolution or of one of its gradients; taps in the
  /// padding count. `resultChannels`: channels of the result in one group.
  CallWork work(int64_t resultChannels) const {
    constexpr double kHalfWidth = 16; // rows of this length are read at half the speed of long rows
    double width = static_cast<double>(out[2]);
    double points =
        static_cast<double>(batch) * static_cast<double>(filters) * static_cast<double>(outSize());
    return {CallWork::Kind::Convolution,
            2 * points * static_cast<double>(groupChannels() * taps()),
            0,
            {},
            {},
            static_cast<double>(resultChannels) * width / (width + kHalfWidth)};
  }
};

/// Reads strides, pads, dilations and group, and checks sizes. x, w, y: image, filter and result, whatever
/// the op computes.
ConvShape readConv(const LibraryCall &call, const TensorDesc &x, const TensorDesc &w, const TensorDesc &y);

/// Which tensor of Y = conv(X, W) a call computes, and the positions of its operands among inputs,
/// then outputs. A transposed convolution counts as the gradient of the image of a convolution.
struct ConvRoles {
  enum class Kind { Forward, Data, Filter } kind; ///< computes Y, X or W
  int image, filter, result;                      ///< X, W, Y
  bool bias;                                      ///< a third input, if there is one, is added
};
/// Throws rt::RuntimeError if the call is not a convolution.
ConvRoles convRolesOf(const LibraryCall &call);
/// Reads the shape from the operands at these positions.
ConvShape readConv(const LibraryCall &call, const ConvRoles &roles);

} // namespace kedge::rt::calls
