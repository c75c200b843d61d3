// Packs panels whose source has k along its rows: transposes blocks of 16 rows in registers. Includes only
// <cstdint>, for the reason given in GemmTile.h.
#pragma once
#include <cstdint>

namespace kedge::rt::cpu {

/// dst[p * width + i] = src[i * stride + p] for i < lanes <= width, p < k. Writes nothing else.
using TransposedRows = void (*)(float *dst, int64_t width, const float *src, int64_t stride, int64_t lanes,
                                int64_t k);

/// Null if the machine has no masked loads.
TransposedRows transposedRows();
TransposedRows transposedRowsAvx512();

} // namespace kedge::rt::cpu
