// Compiled for each instruction set.
#include "runtime/cpu/pool/PoolRows.h"
#include "runtime/cpu/isa/EachIsa.h"
#include "runtime/cpu/isa/Vectors.inc"

namespace kedge::rt::cpu {
namespace {

constexpr int kAnyStride = 0;

/// L elements that are `stride` elements apart.
template <typename T, int Bytes, int Stride> inline auto loadStrided(const T *from, int64_t stride) {
  using W = Wide<T, Bytes>;
  if constexpr (Stride == 1)
    return W::load(from);
  else if constexpr (Stride == 2)
    return loadSecond<T, Bytes>(from);
  else {
    typename W::V value = {};
    for (int i = 0; i < W::L; ++i)
      value[i] = from[i * stride];
    return value;
  }
}

/// One tap for results [0, count) of the row: vectors, then shorter ones, then single results. `place`: of
/// from[0].
template <typename T, int Bytes, int Stride, bool Places>
inline void reduceTap(const T *from, int64_t stride, int64_t count, T *top, PoolIndex<T> place,
                      PoolIndex<T> *best) {
  using W = Wide<T, Bytes>;
  using P = Wide<PoolIndex<T>, Bytes>;
  typename P::V steps = {};
  for (int i = 0; i < W::L; ++i)
    steps[i] = static_cast<PoolIndex<T>>(i * stride);
  int64_t i = 0;
  for (; i + W::L <= count; i += W::L) {
    const typename W::V value = loadStrided<T, Bytes, Stride>(from + i * stride, stride),
                        old = W::load(top + i);
    const auto larger = (value > old) | ((value != value) & (old == old));
    W::store(top + i, larger ? value : old);
    if constexpr (Places)
      P::store(best + i, larger ? steps + static_cast<PoolIndex<T>>(place + i * stride) : P::load(best + i));
  }
  if constexpr (Bytes > kLeastBytes) {
    reduceTap<T, Bytes / 2, Stride, Places>(from + i * stride, stride, count - i, top + i,
                                            static_cast<PoolIndex<T>>(place + i * stride), best + i);
  } else {
    for (; i < count; ++i) { // without a branch, whose outcome would be random
      const T value = from[i * stride], old = top[i];
      const bool larger =
          static_cast<int>(value > old) | (static_cast<int>(value != value) & static_cast<int>(old == old));
      top[i] = larger ? value : old;
      if constexpr (Places)
        best[i] = larger ? static_cast<PoolIndex<T>>(place + i * stride) : best[i];
    }
  }
}

template <typename T, int Bytes, int Stride, bool Places>
void reduceTaps(const PoolTaps<T> &taps, T *top, PoolIndex<T> *best) {
  for (int64_t t = 0; t < taps.count; ++t) {
    const PoolTap &tap = taps.taps[t];
    reduceTap<T, Bytes, Stride, Places>(
        taps.row + tap.at, Stride == kAnyStride ? taps.stride : Stride, tap.count, top + tap.first,
        static_cast<PoolIndex<T>>(taps.place + tap.at), Places ? best + tap.first : nullptr);
  }
}

template <typename T, int Bytes, bool Places>
void reduceRow(const PoolTaps<T> &taps, T *top, PoolIndex<T> *best) {
  if (taps.stride == 1)
    return reduceTaps<T, Bytes, 1, Places>(taps, top, best);
  if (taps.stride == 2)
    return reduceTaps<T, Bytes, 2, Places>(taps, top, best);
  reduceTaps<T, Bytes, kAnyStride, Places>(taps, top, best);
}

template <typename T, int Bytes> void reduceValues(const PoolTaps<T> &taps, T *top) {
  reduceRow<T, Bytes, false>(taps, top, nullptr);
}

template <typename T, int Bytes> PoolRows<T> makePool() {
  return {reduceValues<T, Bytes>, reduceRow<T, Bytes, true>};
}

} // namespace

PoolRows<float> KEDGE_FOR_ISA(poolRows, F32)() { return makePool<float, kIsaBytes>(); }
PoolRows<double> KEDGE_FOR_ISA(poolRows, F64)() { return makePool<double, kIsaBytes>(); }

} // namespace kedge::rt::cpu
