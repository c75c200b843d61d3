// Panels of the implicit im2col matrix: rows of it are read from the image while they are packed.
#pragma once
#include "runtime/cpu/ConvNeighbours.h"
#include "runtime/cpu/Gemm.h"

namespace kedge::rt::cpu {

constexpr int64_t kMostColumns = 32; // of a tile

/// Packs a panel of `count` elements a row of k, filled up to `width`. Rows are written by fill(p, list), in the order of p;
/// for a tile of 16-bit panels into a matrix aside, which `pack` (packA or packB) takes.
template <typename S, typename E, typename Fill, typename Pack>
void packFilled(E *dst, int width, int64_t count, int64_t length, Fill &&fill, Pack &&pack) {
  if constexpr (std::is_same_v<E, uint16_t>) {
    constexpr int64_t kDepth = 64; // a multiple of every tile's
    S list[kDepth * kMostColumns];
    for (int64_t p = 0; p < length; p += kDepth) {
      const int64_t rows = std::min(kDepth, length - p);
      for (int64_t i = 0; i < rows; ++i)
        fill(p + i, list + i * kMostColumns);
      pack(dst + p * width, width, Strided<S>{list, 1, kMostColumns}, count, rows);
    }
  } else {
    for (int64_t p = 0; p < length; ++p, dst += width) {
      fill(p, dst);
      std::fill(dst + count, dst + width, E(0));
    }
  }
}

/// Every position reads one place, its own.
inline bool readsOwnPlace(const ConvShape &c) {
  constexpr Space ones{1, 1, 1};
  return c.kernel == ones && c.stride == ones && c.pad == Space{} && c.in == c.out;
}

/// A row of the matrix: a channel and a tap, which run on without a division each.
struct TapRow {
  int64_t channel;
  Space tap;

  TapRow(const Space &kernel, int64_t k)
      : channel(k / (kernel[0] * kernel[1] * kernel[2])),
        tap{k / (kernel[1] * kernel[2]) % kernel[0], k / kernel[2] % kernel[1], k % kernel[2]} {}

  void next(const Space &kernel) {
    if (++tap[2] < kernel[2])
      return;
    tap[2] = 0;
    if (++tap[1] < kernel[1])
      return;
    tap[1] = 0;
    if (++tap[0] < kernel[0])
      return;
    tap[0] = 0, ++channel;
  }
};

/// Rows of the images' spaces that make a panel's columns, each with its image.
template <typename S> struct PanelRows {
  Segment segments[kMostColumns];
  const S *images[kMostColumns];
  int64_t count = 0;

  /// Columns [begin, begin + columns) of spaces behind each other, whose images lie `stride` apart.
  PanelRows(const Space &space, const S *first, int64_t stride, int64_t begin, int64_t columns) {
    const int64_t plane = space[0] * space[1] * space[2];
    const S *image = first + begin / plane * stride;
    for (int64_t at = 0, position = begin % plane; at < columns; position = 0, image += stride) {
      const int64_t length = std::min(columns - at, plane - position), before = count;
      count += cutRows(space, position, length, segments + count);
      for (int64_t i = before; i < count; ++i) {
        segments[i].at += at;
        images[i] = image;
      }
      at += length;
    }
  }
};

/// A panel of kMaskedLanes columns by NeighbourMasks, a tap of all channels after the other.
inline void packNeighbours(const ConvShape &c, bool back, float *dst, const PanelRows<float> &rows, int64_t k0, int64_t length) {
  const MaskedRows copy = maskedRows();
  const int64_t plane = c.inSize(), taps = c.taps();
  for (int64_t begin = 0, end = 0; begin < rows.count; begin = end) {
    NeighbourMasks masks(c, back);
    for (; end < rows.count && rows.images[end] == rows.images[begin]; ++end)
      masks.add(rows.segments[end]);
    const Segment &first = rows.segments[begin];
    const float *lane0 = rows.images[begin] + ((first.d * c.in[1] + first.h) * c.in[2] + first.w - first.at);
    TapRow tap(c.kernel, k0 % taps);
    for (int64_t p = 0; p < std::min(taps, length); ++p) {
      const int64_t channel = k0 / taps + tap.channel;
      copy((length - p + taps - 1) / taps, lane0 + channel * plane + masks.distance(tap.tap), plane, masks.at(tap.tap),
           dst + p * kMaskedLanes, taps * kMaskedLanes, begin > 0);
      tap.next(c.kernel);
    }
  }
}

/// Columns are positions of Y that read places of X, or with Back positions of X that read places of Y: of all images, one
/// behind the other, where groups are one.
template <bool Back, typename S, typename E>
void packPlaces(const ConvShape &c, E *dst, int width, const S *image, int64_t column, int64_t columns, int64_t k0,
                int64_t length) {
  const Space &space = Back ? c.in : c.out;
  const int64_t positions = space[0] * space[1] * space[2], plane = Back ? c.outSize() : c.inSize();
  const int64_t stride = (Back ? c.filters : c.channels) * plane;
  if (readsOwnPlace(c) && column % positions + columns <= positions) {
    const S *first = image + column / positions * stride + k0 * plane + column % positions;
    return packB(dst, width, Strided<S>{first, 1, plane}, columns, length);
  }
  const PanelRows<S> rows(space, image, stride, column, columns);
  if constexpr (std::is_same_v<S, float> && std::is_same_v<E, float>)
    if (width == kMaskedLanes && NeighbourMasks::fits(c))
      return packNeighbours(c, Back, dst, rows, k0, length);
  TapRow row(c.kernel, k0);
  auto fill = [&](int64_t, auto *list) {
    for (int64_t i = 0; i < rows.count; ++i) {
      const Segment &segment = rows.segments[i];
      const S *source = rows.images[i] + row.channel * plane;
      if constexpr (Back)
        readTapBack(c, source, segment, row.tap[0], row.tap[1], row.tap[2], list + segment.at);
      else
        readTap(c, source, segment, row.tap[0], row.tap[1], row.tap[2], list + segment.at);
    }
    row.next(c.kernel);
  };
  packFilled<S>(dst, width, columns, length, fill, [](auto... panel) { packB(panel...); });
}

} // namespace kedge::rt::cpu
