// Packs panels of the im2col matrix, which never exists as a whole: rows are read from the image while they
// are packed.
#pragma once
#include "runtime/cpu/conv/ConvNeighbours.h"
#include "runtime/cpu/gemm/Gemm.h"

namespace kedge::rt::cpu {
using namespace calls;

constexpr int64_t kMostColumns = 32; // columns of a tile, at most
/// Images of so few places are columns of one product, which packs the filters once: as products of their own
/// they would take as long to pack as to multiply, and fill half of a tile.
constexpr int64_t kSmallPlane = 256;

/// Packs a panel of a tile with 16-bit panels from rows of k that lie kMostColumns apart, of which `count`
/// elements are wanted. fillRows(p, rows, list) writes `rows` of them from p on; `pack` is packA or packB.
template <typename S, typename E, typename FillRows, typename Pack>
void packListed(E *dst, int width, int64_t count, int64_t length, FillRows &&fillRows, Pack &&pack) {
  constexpr int64_t kDepth = 256;                   // in the L1; a multiple of the depth of every tile
  alignas(64) uint16_t bits[kDepth * kMostColumns]; // not of S, whose constructor writes zeros
  S *list = reinterpret_cast<S *>(bits);
  for (int64_t p = 0; p < length; p += kDepth) {
    const int64_t rows = std::min(kDepth, length - p);
    fillRows(p, rows, list);
    pack(dst + p * width, width, Strided<S>{list, 1, kMostColumns}, count, rows);
  }
}

/// Packs a panel with `count` elements in each row of k, padded to `width`. fill(p, list) writes the rows in
/// the order of p.
template <typename S, typename E, typename Fill, typename Pack>
void packFilled(E *dst, int width, int64_t count, int64_t length, Fill &&fill, Pack &&pack) {
  if constexpr (!std::is_floating_point_v<E>) {
    auto fillRows = [&](int64_t p, int64_t rows, S *list) {
      for (int64_t i = 0; i < rows; ++i)
        fill(p + i, list + i * kMostColumns);
    };
    packListed<S>(dst, width, count, length, fillRows, pack);
  } else {
    for (int64_t p = 0; p < length; ++p, dst += width) {
      fill(p, dst);
      std::fill(dst + count, dst + width, E(0));
    }
  }
}

/// Whether every position reads only its own place.
inline bool readsOwnPlace(const ConvShape &c) {
  constexpr Space ones{1, 1, 1};
  return c.kernel == ones && c.stride == ones && c.pad == Space{} && c.in == c.out;
}

/// A row of the matrix: a channel and a tap. Counts on from row to row without divisions.
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

/// Which positions of which images make up a panel's columns.
template <typename S> struct PanelRows {
  Segment segments[kMostColumns];
  const S *images[kMostColumns];
  int64_t count = 0;

  /// Columns [begin, begin + columns) of spaces that follow each other; their images are `stride` apart.
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

/// Writes rows of maskedLanes() columns by NeighbourMasks, in their order: the hardware fetches what is
/// written ahead, too. T: float, or the bits of S.
template <typename T, typename S>
void copyNeighbours(const ConvShape &c, bool back, T *dst, const PanelRows<S> &rows, int64_t k0,
                    int64_t length) {
  const MaskedRows<T> copy = maskedRows<T>();
  const Space &read = NeighbourMasks::read(c, back);
  const int64_t plane = read[0] * read[1] * read[2], taps = c.taps();
  for (int64_t begin = 0, end = 0; begin < rows.count; begin = end) {
    NeighbourMasks masks(c, back);
    for (; end < rows.count && rows.images[end] == rows.images[begin]; ++end)
      masks.add(rows.segments[end]);
    const Segment &first = rows.segments[begin];
    const T *lane0 =
        panelSource(rows.images[begin]) + ((first.d * read[1] + first.h) * read[2] + first.w - first.at);
    copy(masks.taps(), k0 % taps, length, lane0 + k0 / taps * plane, plane, dst, begin > 0);
  }
}

/// The panel of these columns, if the machine can copy neighbours and each row of the panel is a run of them.
template <typename S, typename E>
bool packNeighbours(const ConvShape &c, bool back, E *dst, int width, const PanelRows<S> &rows,
                    int64_t columns, int64_t k0, int64_t length) {
  using T = std::conditional_t<kIsHalf<S>, uint16_t, float>; // what the machine copies
  constexpr bool isHalf = kIsHalf<S> && !std::is_floating_point_v<E>;
  if constexpr (isHalf || (std::is_same_v<S, float> && std::is_same_v<E, float>)) {
    if (!maskedRows<T>() || width != maskedLanes() || !NeighbourMasks::fits(c))
      return false;
    if constexpr (isHalf) {
      static_assert(kMaskedLanes == kMostColumns);
      auto fillRows = [&](int64_t p, int64_t count, S *list) {
        copyNeighbours(c, back, &list->bits, rows, k0 + p, count);
      };
      packListed<S>(dst, width, columns, length, fillRows, [](auto... panel) { packB(panel...); });
    } else {
      copyNeighbours(c, back, dst, rows, k0, length);
    }
    return true;
  }
  return false;
}

/// Columns are positions of Y that read places of X or, with Back, positions of X that
/// read places of Y. If there is one group, the positions of all images follow each other.
template <bool Back, typename S, typename E>
void packPlaces(const ConvShape &c, E *dst, int width, const S *image, int64_t column, int64_t columns,
                int64_t k0, int64_t length) {
  const Space &space = Back ? c.in : c.out;
  const int64_t positions = space[0] * space[1] * space[2], plane = Back ? c.outSize() : c.inSize();
  const int64_t stride = (Back ? c.filters : c.channels) * plane;
  if (readsOwnPlace(c) && column % positions + columns <= positions) {
    const S *first = image + column / positions * stride + k0 * plane + column % positions;
    return packB(dst, width, Strided<S>{first, 1, plane}, columns, length);
  }
  const PanelRows<S> rows(space, image, stride, column, columns);
  if (packNeighbours(c, Back, dst, width, rows, columns, k0, length))
    return;
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
