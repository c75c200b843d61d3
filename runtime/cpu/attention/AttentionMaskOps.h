// Applies masks to tiles of scores, which are in units of log 2. Forward and backward attention share it.
#pragma once
#include "runtime/calls/AttentionShape.h"
#include "runtime/calls/Types.h"
#include <limits>

namespace kedge::rt::cpu {
using namespace calls;

/// The amount that a mask element adds to a score.
template <typename T> inline T maskValue(const AttentionMask &mask, const void *base, int64_t place) {
  constexpr T kLog2e = static_cast<T>(1.4426950408889634);
  switch (mask.type) {
  case DType::Bool:
    return static_cast<const uint8_t *>(base)[place] ? T(0) : -std::numeric_limits<T>::infinity();
  case DType::F32:
    return static_cast<T>(static_cast<const float *>(base)[place]) * kLog2e;
  case DType::F64:
    return static_cast<T>(static_cast<const double *>(base)[place]) * kLog2e;
  case DType::F16:
    return static_cast<T>(static_cast<float>(static_cast<const Float16 *>(base)[place])) * kLog2e;
  default:
    return static_cast<T>(static_cast<float>(static_cast<const BFloat16 *>(base)[place])) * kLog2e;
  }
}

/// Adds mask(row0 + r, column0 + c) to tile[r * width + c] for r < rows, c < columns, with the given strides.
template <typename T>
void addMask(const AttentionMask &mask, const void *base, int64_t start, int64_t rowStride,
             int64_t columnStride, T *tile, int64_t width, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    T *row = tile + r * width;
    int64_t place = start + r * rowStride;
    if (columnStride == 0) {
      T value = maskValue<T>(mask, base, place);
      for (int64_t c = 0; c < columns; ++c)
        row[c] += value;
      continue;
    }
    for (int64_t c = 0; c < columns; ++c)
      row[c] += maskValue<T>(mask, base, place + c * columnStride);
  }
}

} // namespace kedge::rt::cpu
