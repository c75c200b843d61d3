#include "runtime/comm/Combine.h"
#include "runtime/format/Float16.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstring>
#include <type_traits>

namespace kedge::rt {
namespace {

constexpr int64_t kBlock = 512;

template <typename T> constexpr bool isHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <typename T> using Wide = std::conditional_t<isHalf<T>, float, T>;

struct Add {
  template <typename W> static W apply(W a, W b) {
    if constexpr (std::is_integral_v<W>) // wraps, whatever the sign
      return static_cast<W>(static_cast<std::make_unsigned_t<W>>(a) +
                            static_cast<std::make_unsigned_t<W>>(b));
    else
      return a + b;
  }
};

struct Larger {
  template <typename W> static W apply(W a, W b) {
    if constexpr (std::is_floating_point_v<W>)
      return b > a || b != b ? b : a; // a NaN of either stays
    else
      return std::max(a, b);
  }
};

/// As combineAs, but each result waits at its level until its neighbour is there.
template <typename T, typename Operation>
void combineTree(const char *const *sources, size_t sourceCount, void *output, int64_t count) {
  using W = Wide<T>;
  constexpr size_t kLevels = 21; // of as many ranks as a mesh may have
  W waiting[kLevels][kBlock], sums[kBlock];
  T values[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    const size_t offset = static_cast<size_t>(begin) * sizeof(T), bytes = static_cast<size_t>(n) * sizeof(T);
    const auto join = [&](size_t level) {
      for (int64_t i = 0; i < n; ++i)
        sums[i] = Operation::apply(waiting[level][i], sums[i]);
    };
    for (size_t s = 0; s < sourceCount; ++s) {
      std::memcpy(values, sources[s] + offset, bytes);
      for (int64_t i = 0; i < n; ++i)
        sums[i] = static_cast<W>(values[i]);
      size_t level = 0;
      for (; s >> level & 1; ++level)
        join(level);
      if (s + 1 < sourceCount)
        std::copy_n(sums, n, waiting[level]);
      else // what has no neighbour goes on alone
        for (++level; s >> level != 0; ++level)
          if (s >> level & 1)
            join(level);
    }
    for (int64_t i = 0; i < n; ++i)
      values[i] = static_cast<T>(sums[i]);
    std::memcpy(static_cast<char *>(output) + offset, values, bytes);
  }
}

/// Block by block, so that sums stay in the first cache while source after source is added.
template <typename T, typename Operation>
void combineAs(const char *const *sources, size_t sourceCount, void *output, int64_t count) {
  using W = Wide<T>;
  W sums[kBlock];
  T values[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    const size_t offset = static_cast<size_t>(begin) * sizeof(T), bytes = static_cast<size_t>(n) * sizeof(T);
    for (size_t s = 0; s < sourceCount; ++s) {
      std::memcpy(values, sources[s] + offset, bytes);
      if (s == 0)
        for (int64_t i = 0; i < n; ++i)
          sums[i] = static_cast<W>(values[i]);
      else
        for (int64_t i = 0; i < n; ++i)
          sums[i] = Operation::apply(sums[i], static_cast<W>(values[i]));
    }
    for (int64_t i = 0; i < n; ++i)
      values[i] = static_cast<T>(sums[i]);
    std::memcpy(static_cast<char *>(output) + offset, values, bytes);
  }
}

template <typename T>
void combineBy(Reduction reduction, bool tree, const char *const *sources, size_t sourceCount, void *output,
               int64_t count) {
  if (reduction == Reduction::Sum && tree)
    combineTree<T, Add>(sources, sourceCount, output, count);
  else if (reduction == Reduction::Sum)
    combineAs<T, Add>(sources, sourceCount, output, count);
  else
    combineAs<T, Larger>(sources, sourceCount, output, count);
}

} // namespace

void combine(Reduction reduction, bool tree, DType type, const char *const *sources, size_t sourceCount,
             void *output, int64_t count) {
  switch (type) {
  case DType::F32:
    return combineBy<float>(reduction, tree, sources, sourceCount, output, count);
  case DType::F64:
    return combineBy<double>(reduction, tree, sources, sourceCount, output, count);
  case DType::F16:
    return combineBy<Float16>(reduction, tree, sources, sourceCount, output, count);
  case DType::BF16:
    return combineBy<BFloat16>(reduction, tree, sources, sourceCount, output, count);
  case DType::I32:
    return combineBy<int32_t>(reduction, tree, sources, sourceCount, output, count);
  case DType::I64:
    return combineBy<int64_t>(reduction, tree, sources, sourceCount, output, count);
  case DType::Bool:
    if (reduction == Reduction::Max)
      return combineBy<uint8_t>(reduction, tree, sources, sourceCount, output, count);
    break;
  default:
    break;
  }
  fail("ranks cannot {} values of type {}", reduction == Reduction::Sum ? "sum" : "take the maximum of",
       dtypeName(type));
}

} // namespace kedge::rt
