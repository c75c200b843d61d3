// Packs matrices into the panels that GemmTile reads. 16-bit
// source elements are widened here for the float tile.
#pragma once
#include "runtime/cpu/gemm/TransposedRows.h"
#include "runtime/cpu/isa/HalfRows.h"
#include "runtime/format/Float16.h"
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace kedge::rt::cpu {

/// Element (i, j) of a matrix is base[i * rowStride + j * columnStride].
template <typename S> struct Strided {
  const S *base;
  int64_t rowStride, columnStride;

  Strided transposed() const { return {base, columnStride, rowStride}; }
  Strided at(int64_t i, int64_t j) const {
    return {base + i * rowStride + j * columnStride, rowStride, columnStride};
  }
};

namespace detail {

typedef float Float4 __attribute__((vector_size(16)));
typedef float Float4Unaligned __attribute__((vector_size(16), aligned(4)));
typedef int32_t Int4 __attribute__((vector_size(16)));

/// dst[p * width + i] = src[i * stride + p] for i, p < 4.
inline void transpose4x4(float *dst, int64_t width, const float *src, int64_t stride) {
  Float4 r0 = *reinterpret_cast<const Float4Unaligned *>(src);
  Float4 r1 = *reinterpret_cast<const Float4Unaligned *>(src + stride);
  Float4 r2 = *reinterpret_cast<const Float4Unaligned *>(src + 2 * stride);
  Float4 r3 = *reinterpret_cast<const Float4Unaligned *>(src + 3 * stride);
  Float4 low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5),
         high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  Float4 low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5),
         high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  auto store = [&](int64_t p, Float4 value) {
    *reinterpret_cast<Float4Unaligned *>(dst + p * width) = value;
  };
  store(0, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
  store(1, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
  store(2, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
  store(3, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
}

template <typename T, typename S>
void packByElement(T *dst, int64_t width, Strided<S> src, int64_t lanes, int64_t k) {
  for (int64_t p = 0; p < k; ++p)
    for (int64_t i = 0; i < lanes; ++i)
      dst[p * width + i] = static_cast<T>(src.base[i * src.rowStride + p * src.columnStride]);
}

/// Rows of a length known at compile time are copied without a call.
template <int64_t Lanes, typename T>
void copyRows(T *dst, int64_t width, const T *src, int64_t stride, int64_t k) {
  for (int64_t p = 0; p < k; ++p)
    std::memcpy(dst + p * width, src + p * stride, sizeof(T) * Lanes);
}

/// kNeighbours panels of Lanes at once: rows of the source are read in longer pieces.
constexpr int64_t kNeighbours = 4;
template <int64_t Lanes, typename T> void copyNeighbours(T *dst, const T *src, int64_t stride, int64_t k) {
  for (int64_t p = 0; p < k; ++p)
    for (int64_t panel = 0; panel < kNeighbours; ++panel)
      std::memcpy(dst + (panel * k + p) * Lanes, src + p * stride + panel * Lanes, sizeof(T) * Lanes);
}

template <typename T>
void copyRows(T *dst, int64_t width, const T *src, int64_t stride, int64_t lanes, int64_t k) {
  switch (lanes) {
  case 4:
    return copyRows<4>(dst, width, src, stride, k);
  case 6:
    return copyRows<6>(dst, width, src, stride, k);
  case 8:
    return copyRows<8>(dst, width, src, stride, k);
  case 12:
    return copyRows<12>(dst, width, src, stride, k);
  case 16:
    return copyRows<16>(dst, width, src, stride, k);
  case 32:
    return copyRows<32>(dst, width, src, stride, k);
  default:
    for (int64_t p = 0; p < k; ++p)
      std::memcpy(dst + p * width, src + p * stride, sizeof(T) * lanes);
  }
}

} // namespace detail

template <typename S> constexpr bool kIsHalf = std::is_same_v<S, BFloat16> || std::is_same_v<S, Float16>;

/// dst[r * dstStride + i] = src[r * srcStride + i] for i < n, converted to D.
template <typename S, typename D>
void convertRows(int64_t rows, int64_t n, const S *src, int64_t srcStride, D *dst, int64_t dstStride) {
  if constexpr (kIsHalf<S> && std::is_same_v<D, float>)
    halfRows<S>().widen(rows, n, &src->bits, srcStride, dst, dstStride);
  else if constexpr (kIsHalf<D> && std::is_same_v<S, float>)
    halfRows<D>().round(rows, n, src, srcStride, &dst->bits, dstStride);
  else
    for (int64_t r = 0; r < rows; ++r)
      std::copy_n(src + r * srcStride, n, dst + r * dstStride);
}

/// dst[r * dstStride + c] = src[c * srcStride + r] for r < rows, c < columns, rounded to S.
template <typename T, typename S>
void storeTransposed(const T *src, int64_t srcStride, S *dst, int64_t dstStride, int64_t rows,
                     int64_t columns) {
  if constexpr (kIsHalf<S>) {
    constexpr int64_t kSide = 32;
    T turned[kSide * kSide];
    for (int64_t r = 0; r < rows; r += kSide)
      for (int64_t c = 0; c < columns; c += kSide) {
        int64_t height = std::min(kSide, rows - r), width = std::min(kSide, columns - c);
        storeTransposed(src + c * srcStride + r, srcStride, turned, kSide, height, width);
        convertRows(height, width, turned, kSide, dst + r * dstStride + c, dstStride);
      }
    return;
  }
  int64_t doneRows = 0;
  if constexpr (std::is_same_v<T, float> && std::is_same_v<S, float>) {
    if (const TransposedRows turned = transposedRows())
      return turned(dst, dstStride, src, srcStride, columns, rows);
    if (columns % 4 == 0) {
      doneRows = rows / 4 * 4;
      for (int64_t r = 0; r < doneRows; r += 4)
        for (int64_t c = 0; c < columns; c += 4)
          detail::transpose4x4(dst + r * dstStride + c, dstStride, src + c * srcStride + r, srcStride);
    }
  }
  for (int64_t r = doneRows; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      dst[r * dstStride + c] = static_cast<S>(src[c * srcStride + r]);
}

constexpr int64_t kMostLanes = 32; ///< of a panel of any tile

/// One panel: dst[p * width + i] = src(i, p) for i < lanes, p < k; lanes up to width are zero.
template <typename T, typename S>
void packPanel(T *dst, int64_t width, Strided<S> src, int64_t lanes, int64_t k) {
  if (lanes < width)
    std::memset(dst, 0, sizeof(T) * width * k);
  if constexpr (std::is_same_v<T, S>) {
    if (src.rowStride == 1) {
      detail::copyRows(dst, width, src.base, src.columnStride, lanes, k);
      return;
    }
  }
  if constexpr (std::is_same_v<T, float> && std::is_same_v<S, float>) {
    if (src.columnStride == 1) {
      if (const TransposedRows turned = transposedRows())
        return turned(dst, width, src.base, src.rowStride, lanes, k);
      int64_t wholeLanes = lanes / 4 * 4, wholeK = k / 4 * 4;
      for (int64_t p = 0; p < wholeK; p += 4)
        for (int64_t i = 0; i < wholeLanes; i += 4)
          detail::transpose4x4(dst + p * width + i, width, src.base + i * src.rowStride + p, src.rowStride);
      if (wholeK < k)
        detail::packByElement(dst + wholeK * width, width, src.at(0, wholeK), wholeLanes, k - wholeK);
      if (wholeLanes < lanes)
        detail::packByElement(dst + wholeLanes, width, src.at(wholeLanes, 0), lanes - wholeLanes, k);
      return;
    }
  }
  if constexpr (std::is_same_v<T, float> && kIsHalf<S>) {
    if (src.rowStride == 1) {
      convertRows(k, lanes, src.base, src.columnStride, dst, width);
      return;
    }
    if (src.columnStride == 1 && lanes <= kMostLanes) {
      constexpr int64_t kDepth = 64;
      float wide[kMostLanes * kDepth];
      for (int64_t p = 0; p < k; p += kDepth) {
        int64_t depth = std::min(kDepth, k - p);
        convertRows(lanes, depth, src.at(0, p).base, src.rowStride, wide, kDepth);
        packPanel(dst + p * width, width, Strided<float>{wide, kDepth, 1}, lanes, depth);
      }
      return;
    }
  }
  detail::packByElement(dst, width, src, lanes, k);
}

/// Packs the first panels of `lanes` at once and returns how many; 0: the layout or the width does not suit.
template <typename T, typename S>
int64_t packNeighbours(T *dst, int64_t width, Strided<S> src, int64_t lanes, int64_t k) {
  if constexpr (std::is_same_v<T, S>)
    if (src.rowStride == 1 && lanes >= detail::kNeighbours * width)
      switch (width) {
      case 6:
        detail::copyNeighbours<6>(dst, src.base, src.columnStride, k);
        return detail::kNeighbours;
      case 12:
        detail::copyNeighbours<12>(dst, src.base, src.columnStride, k);
        return detail::kNeighbours;
      case 16:
        detail::copyNeighbours<16>(dst, src.base, src.columnStride, k);
        return detail::kNeighbours;
      case 32:
        detail::copyNeighbours<32>(dst, src.base, src.columnStride, k);
        return detail::kNeighbours;
      default:
        return 0;
      }
  return 0;
}

} // namespace kedge::rt::cpu
