// Panels of the implicit im2col matrix: rows of it are read from the image while they are packed.
#pragma once
#include "runtime/cpu/ConvTaps.h"
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

/// Columns are positions of Y that read places of X, or with Back positions of X that read places of Y.
template <bool Back, typename S, typename E>
void packPlaces(const ConvShape &c, E *dst, int width, const S *image, int64_t column, int64_t columns, int64_t k0,
                int64_t length) {
  const int64_t plane = Back ? c.outSize() : c.inSize();
  if (readsOwnPlace(c))
    return packB(dst, width, Strided<S>{image + k0 * plane + column, 1, plane}, columns, length);
  Segment segments[kMostColumns];
  const int64_t count = cutRows(Back ? c.in : c.out, column, columns, segments);
  TapRow row(c.kernel, k0);
  auto fill = [&](int64_t, auto *list) {
    const S *source = image + row.channel * plane;
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (Back)
        readTapBack(c, source, segments[i], row.tap[0], row.tap[1], row.tap[2], list + segments[i].at);
      else
        readTap(c, source, segments[i], row.tap[0], row.tap[1], row.tap[2], list + segments[i].at);
    }
    row.next(c.kernel);
  };
  packFilled<S>(dst, width, columns, length, fill, [](auto... panel) { packB(panel...); });
}

} // namespace kedge::rt::cpu
