// Shapes of convolutions.
#pragma once
#include "runtime/calls/Call.h"
#include <array>

namespace kedge::rt::cpu {

using Space = std::array<int64_t, 3>; ///< depth, height, width; missing leading dimensions are 1

constexpr int64_t kMostDepthwiseTaps = 256; ///< of a channel, all its filters together

/// X [batch, channels, in], W [filters, channels/groups, kernel], Y [batch, filters, out].
struct ConvShape {
  int64_t batch, channels, filters, groups;
  Space in, out, kernel, stride, dilation, pad; ///< pad: at the beginnings

  int64_t inSize() const { return in[0] * in[1] * in[2]; }
  int64_t outSize() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t groupChannels() const { return channels / groups; }
  int64_t groupFilters() const { return filters / groups; }
  /// Few filters a channel, and none sees two channels: a stencil over planes, no product.
  bool isDepthwise() const {
    return groupChannels() == 1 && groupFilters() <= 4 && taps() * groupFilters() <= kMostDepthwiseTaps;
  }
  /// The same convolution with its positions in one row where each reads one place, its own: rows need not be cut then.
  ConvShape withLongRows() const {
    constexpr Space ones{1, 1, 1};
    ConvShape c = *this;
    if (kernel == ones && stride == ones && pad == Space{} && in == out)
      c.in = c.out = {1, 1, inSize()};
    return c;
  }
  /// Of the convolution and of both its gradients; taps in the padding count.
  /// `resultChannels`: of one group.
  KernelWork work(int64_t resultChannels) const {
    constexpr double kHalfWidth = 16; // rows so long are read at half of the speed of long ones
    double width = static_cast<double>(out[2]);
    double points = static_cast<double>(batch) * static_cast<double>(filters) * static_cast<double>(outSize());
    return {KernelWork::Kind::Convolution, 2 * points * static_cast<double>(groupChannels() * taps()), 0, {}, {},
            static_cast<double>(resultChannels) * width / (width + kHalfWidth)};
  }
};

/// Reads strides, pads, dilations, group and checks the sizes. x, w, y in the roles above, whatever the op.
ConvShape readConv(const LibraryCall &call, const TensorDesc &x, const TensorDesc &w, const TensorDesc &y);

/// What a call computes of Y = conv(X, W), and where its operands stand among inputs, then outputs. A transposed
/// convolution is the gradient of a convolution that goes the other way.
struct ConvRoles {
  enum class Kind { Forward, Data, Filter } kind; ///< Y, X or W
  int image, filter, result;                      ///< X, W, Y
  bool bias;                                      ///< the third input, where there is one, is added
};
/// Throws rt::Error for what is no convolution.
ConvRoles convRolesOf(const LibraryCall &call);
/// Reads the shape from the operands in their roles.
ConvShape readConv(const LibraryCall &call, const ConvRoles &roles);

} // namespace kedge::rt::cpu
