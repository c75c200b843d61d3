// Compiled for each instruction set.
#include "runtime/cpu/conv/StencilRows.h"
#include "runtime/cpu/isa/EachIsa.h"
#include "runtime/cpu/isa/Vectors.inc"

namespace kedge::rt::cpu {
namespace {

/// Elements [at, at + Count vectors) of a row.
template <typename T, int Bytes, int Count>
inline void sumVectors(const StencilTaps<T> &taps, const T *weights, T start, int64_t at, T *result) {
  using W = Wide<T, Bytes>;
  using V = typename W::V;
  constexpr int L = W::L;
  V sums[Count];
#pragma GCC unroll 4
  for (int k = 0; k < Count; ++k)
    sums[k] = V{} + start;
  for (int64_t t = 0; t < taps.count; ++t) {
    const T *from = taps.from[t] + at;
    const V weight = V{} + weights[t];
#pragma GCC unroll 4
    for (int k = 0; k < Count; ++k)
      sums[k] += weight * W::load(from + k * L);
  }
#pragma GCC unroll 4
  for (int k = 0; k < Count; ++k)
    W::store(result + k * L, sums[k]);
}

/// A row's last vector overlaps the one before; rows shorter than a vector take shorter vectors.
template <typename T, int Bytes>
inline void sumRow(const StencilTaps<T> &taps, const T *weights, T start, int64_t at, T *result) {
  constexpr int L = Wide<T, Bytes>::L;
  if constexpr (Bytes > kLeastBytes)
    if (taps.width < L)
      return sumRow<T, Bytes / 2>(taps, weights, start, at, result);
  int64_t i = 0;
  for (; i + 4 * L <= taps.width; i += 4 * L)
    sumVectors<T, Bytes, 4>(taps, weights, start, at + i, result + i);
  if (i + 2 * L <= taps.width) {
    sumVectors<T, Bytes, 2>(taps, weights, start, at + i, result + i);
    i += 2 * L;
  }
  if (i + L <= taps.width) {
    sumVectors<T, Bytes, 1>(taps, weights, start, at + i, result + i);
    i += L;
  }
  if (i < taps.width && taps.width >= L)
    return sumVectors<T, Bytes, 1>(taps, weights, start, at + taps.width - L, result + taps.width - L);
  for (; i < taps.width; ++i) {
    T sum = start;
    for (int64_t t = 0; t < taps.count; ++t)
      sum += weights[t] * taps.from[t][at + i];
    result[i] = sum;
  }
}

template <typename T, int Bytes>
void sumRows(const StencilTaps<T> &taps, const T *weights, T start, T *result, int64_t resultPitch) {
  for (int64_t r = 0; r < taps.rows; ++r)
    sumRow<T, Bytes>(taps, weights, start, r * taps.pitch, result + r * resultPitch);
}

/// Taps [first, first + Count). A chain of sums ends after about kChain vectors.
template <typename T, int Bytes, int Count>
void dotTaps(const StencilTaps<T> &taps, int64_t first, const T *other, T *lanes) {
  using W = Wide<T, Bytes>;
  using V = typename W::V;
  constexpr int L = W::L;
  constexpr int64_t kChain = 64;
  const int64_t whole = taps.width / L * L, vectors = (taps.width + L - 1) / L;
  const int64_t chainRows = vectors < kChain ? kChain / vectors : 1;
  V number = {};
  for (int i = 0; i < L; ++i)
    number[i] = static_cast<T>(i);
  const auto there = number < V{} + static_cast<T>(taps.width - whole);
  V sums[Count] = {};
  for (int64_t row = 0; row < taps.rows; row += chainRows) {
    const int64_t end = row + chainRows < taps.rows ? row + chainRows : taps.rows;
    V chain[Count] = {};
    for (int64_t r = row; r < end; ++r) {
      const T *line = other + r * taps.width;
      const int64_t at = r * taps.pitch;
      for (int64_t i = 0; i < whole; i += L) {
        const V value = W::load(line + i);
#pragma GCC unroll 9
        for (int t = 0; t < Count; ++t)
          chain[t] += value * W::load(taps.from[first + t] + at + i);
      }
      if (whole == taps.width)
        continue;
      const V value = W::load(line + whole);
#pragma GCC unroll 9
      for (int t = 0; t < Count; ++t) {
        const V tap = W::load(taps.from[first + t] + at + whole);
        chain[t] = there ? chain[t] + value * tap : chain[t];
      }
    }
    for (int t = 0; t < Count; ++t)
      sums[t] += chain[t];
  }
  for (int t = 0; t < Count; ++t) {
    T *to = lanes + (first + t) * kStencilLanes;
    W::store(to, W::load(to) + sums[t]);
  }
}

/// Taps from `first` on, nine at a time: as many chains as fit the registers beside what they read.
template <typename T, int Bytes, int Count>
void dotFrom(const StencilTaps<T> &taps, int64_t first, const T *other, T *lanes) {
  for (; first + Count <= taps.count; first += Count)
    dotTaps<T, Bytes, Count>(taps, first, other, lanes);
  if constexpr (Count > 1)
    dotFrom<T, Bytes, Count - 1>(taps, first, other, lanes);
}

template <typename T, int Bytes> void dotRows(const StencilTaps<T> &taps, const T *other, T *lanes) {
  if (taps.width > 0)
    dotFrom<T, Bytes, 9>(taps, 0, other, lanes);
}

/// Calls part(i) for the vectors at i of a row; the last one overlaps the one before, and shorter rows have
/// shorter vectors.
template <typename T, int Bytes, template <typename, int> typename Part, typename... Args>
inline void eachVector(int64_t width, Args... args) {
  constexpr int L = Wide<T, Bytes>::L;
  if (width >= L) {
    int64_t i = 0;
    for (; i + L <= width; i += L)
      Part<T, Bytes>::vector(i, args...);
    if (i < width)
      Part<T, Bytes>::vector(width - L, args...);
  } else if constexpr (Bytes > kLeastBytes) {
    eachVector<T, Bytes / 2, Part>(width, args...);
  } else {
    for (int64_t i = 0; i < width; ++i)
      Part<T, Bytes>::element(i, args...);
  }
}

template <typename T, int Bytes> struct Copy {
  using W = Wide<T, Bytes>;
  static void vector(int64_t i, const T *src, T *dst) { W::store(dst + i, W::load(src + i)); }
  static void element(int64_t i, const T *src, T *dst) { dst[i] = src[i]; }
};

template <typename T, int Bytes> struct Second {
  static void vector(int64_t i, const T *src, T *dst) {
    Wide<T, Bytes>::store(dst + i, loadSecond<T, Bytes>(src + 2 * i));
  }
  static void element(int64_t i, const T *src, T *dst) { dst[i] = src[2 * i]; }
};

template <typename T, int Bytes> struct Weave {
  using W = Wide<T, Bytes>;
  static void vector(int64_t i, const T *even, const T *odd, T *dst) {
    const auto left = W::load(even + i), right = W::load(odd + i);
    W::store(dst + 2 * i, inTurns<T, Bytes, 0>(left, right));
    W::store(dst + 2 * i + W::L, inTurns<T, Bytes, 1>(left, right));
  }
  static void element(int64_t i, const T *even, const T *odd, T *dst) {
    dst[2 * i] = even[i];
    dst[2 * i + 1] = odd[i];
  }
};

template <typename T, int Bytes, template <typename, int> typename Part>
void readRows(int64_t rows, int64_t width, const T *src, int64_t srcPitch, T *dst, int64_t dstPitch) {
  for (int64_t r = 0; r < rows; ++r)
    eachVector<T, Bytes, Part>(width, src + r * srcPitch, dst + r * dstPitch);
}

template <typename T, int Bytes>
void weaveRows(int64_t rows, int64_t width, const T *even, const T *odd, int64_t pitch, T *dst,
               int64_t dstPitch) {
  for (int64_t r = 0; r < rows; ++r, even += pitch, odd += pitch, dst += dstPitch) {
    eachVector<T, Bytes, Weave>(width / 2, even, odd, dst);
    if (width % 2)
      dst[width - 1] = even[width / 2];
  }
}

template <typename T, int Bytes> StencilRows<T> makeStencil() {
  return {sumRows<T, Bytes>, dotRows<T, Bytes>, readRows<T, Bytes, Copy>, readRows<T, Bytes, Second>,
          weaveRows<T, Bytes>};
}

} // namespace

StencilRows<float> KEDGE_FOR_ISA(stencilRows, F32)() { return makeStencil<float, kIsaBytes>(); }
StencilRows<double> KEDGE_FOR_ISA(stencilRows, F64)() { return makeStencil<double, kIsaBytes>(); }

} // namespace kedge::rt::cpu
