// Converts rows of 16-bit floats to float and back; compiled for each instruction set like GemmTile. Rounds
// to nearest even and keeps NaN and subnormal numbers. Includes only <cstdint>, for the reason given in
// GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt {
struct BFloat16;
struct Float16;
} // namespace kedge::rt

namespace kedge::rt::cpu {

/// Both convert `rows` rows of n elements that are `stride` elements apart. S is stored as bits.
struct HalfRows {
  void (*widen)(int64_t rows, int64_t n, const uint16_t *src, int64_t srcStride, float *dst,
                int64_t dstStride);
  void (*round)(int64_t rows, int64_t n, const float *src, int64_t srcStride, uint16_t *dst,
                int64_t dstStride);
};

/// The variant for this machine; S is BFloat16 or Float16.
template <typename S> const HalfRows &halfRows();

struct HalfRowsOfBoth {
  HalfRows bf16, f16;
};
HalfRowsOfBoth halfRowsAvx512();
HalfRowsOfBoth halfRowsAvx2();
HalfRowsOfBoth halfRowsBase();

} // namespace kedge::rt::cpu
