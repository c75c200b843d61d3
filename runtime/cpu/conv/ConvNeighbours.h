// Packs panels for convolutions with stride 1 whose results have the size of their images, or one row. There
// a tap reads at one fixed distance from each place, so a row of a panel is a contiguous run of the image,
// with zeros where it is in the padding. Which places these are does not depend on the channel.
#pragma once
#include "runtime/cpu/conv/ConvTaps.h"
#include "runtime/cpu/conv/MaskedRows.h"
#include "runtime/cpu/gemm/GemmPack.h"

namespace kedge::rt::cpu {
using namespace calls;

inline bool isFlatAndSame(const ConvShape &c) {
  return c.stride == Space{1, 1, 1} && c.in == c.out && c.in[0] == 1 && c.kernel[0] == 1;
}

/// Sets dst[i] to what tap (th, tw) reads for place position + i of a plane, if
/// isFlatAndSame: copies the run of neighbours, then writes zeros over those in the padding.
template <typename S, typename T>
void readNeighbours(const ConvShape &c, const S *plane, int64_t th, int64_t tw, int64_t position,
                    int64_t count, T *dst) {
  const int64_t height = c.in[1], width = c.in[2], end = position + count;
  const int64_t down = th * c.dilation[1] - c.pad[1], right = tw * c.dilation[2] - c.pad[2],
                distance = down * width + right;
  auto zero = [&](int64_t first, int64_t last) {
    for (int64_t i = std::max(first, position); i < std::min(last, end); ++i)
      dst[i - position] = T(0);
  };
  const int64_t first = std::clamp(-distance, position, end),
                last = std::clamp(height * width - distance, first, end);
  convertRows(1, last - first, plane + first + distance, 0, dst + (first - position), 0);
  zero(position, std::max(first, -down * width));
  zero(std::min(last, (height - down) * width), end);
  if (right == 0)
    return;
  const int64_t from = right < 0 ? 0 : std::max<int64_t>(0, width - right),
                to = right < 0 ? std::min(width, -right) : width;
  for (int64_t row = position / width * width; row < end; row += width)
    zero(row + from, row + to);
}

/// For places [begin, end) of a panel's columns in one image: by axis and tap, bits of places whose neighbour
/// exists.
class NeighbourMasks {
public:
  static constexpr int64_t kMostTaps = 16; ///< along an axis

  /// Of spaces of one row the lengths may differ: the next place is the next element all the same.
  static bool fits(const ConvShape &c) {
    const bool isRow = c.in[0] == 1 && c.in[1] == 1 && c.out[0] == 1 && c.out[1] == 1;
    return c.stride == Space{1, 1, 1} && (c.in == c.out || isRow) && c.kernel[0] <= kMostTaps &&
           c.kernel[1] <= kMostTaps && c.kernel[2] <= kMostTaps && c.taps() <= MaskedTaps::kMost;
  }

  /// The space that taps read.
  static const Space &read(const ConvShape &c, bool back) { return back ? c.out : c.in; }

  /// `back`: for the gradient, whose taps look in the opposite direction.
  NeighbourMasks(const ConvShape &c, bool back) : c_(c), read_(read(c, back)), back_(back) {}

  void add(const Segment &s) {
    const uint32_t whole = ones(s.length) << s.at;
    for (int64_t t = 0; t < c_.kernel[0]; ++t)
      mask_[0][t] |= isInside(0, s.d + shift(0, t)) ? whole : 0;
    for (int64_t t = 0; t < c_.kernel[1]; ++t)
      mask_[1][t] |= isInside(1, s.h + shift(1, t)) ? whole : 0;
    for (int64_t t = 0; t < c_.kernel[2]; ++t) {
      const int64_t w = s.w + shift(2, t), first = std::clamp<int64_t>(-w, 0, s.length);
      const int64_t last = std::clamp(read_[2] - w, first, s.length);
      mask_[2][t] |= (ones(last) & ~ones(first)) << s.at;
    }
  }

  /// All taps in their order.
  MaskedTaps taps() const {
    MaskedTaps all;
    all.count = 0;
    for (int64_t d = 0; d < c_.kernel[0]; ++d)
      for (int64_t h = 0; h < c_.kernel[1]; ++h)
        for (int64_t w = 0; w < c_.kernel[2]; ++w, ++all.count) {
          all.distance[all.count] = (shift(0, d) * read_[1] + shift(1, h)) * read_[2] + shift(2, w);
          all.mask[all.count] = mask_[0][d] & mask_[1][h] & mask_[2][w];
        }
    return all;
  }

private:
  static uint32_t ones(int64_t count) { return count >= 32 ? ~uint32_t(0) : (uint32_t(1) << count) - 1; }
  int64_t shift(size_t axis, int64_t tap) const {
    const int64_t forward = tap * c_.dilation[axis] - c_.pad[axis];
    return back_ ? -forward : forward;
  }
  bool isInside(size_t axis, int64_t place) const { return place >= 0 && place < read_[axis]; }

  const ConvShape &c_;
  const Space &read_;
  bool back_;
  uint32_t mask_[3][kMostTaps] = {};
};

} // namespace kedge::rt::cpu
