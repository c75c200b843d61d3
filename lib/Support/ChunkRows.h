// How many rows are computed at a time where the whole of them takes too many bytes.
#pragma once
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdint>

namespace kedge {

/// Each chunk has launches of its own: more chunks would make the plan longer without lowering the peak.
constexpr int64_t kMostChunks = 64;

inline int64_t chunksOf(int64_t bytes, int64_t most) {
  return std::min<int64_t>(kMostChunks, llvm::divideCeil(bytes, most));
}

/// Of so many chunks; at least `rows` where there is nothing to divide. Long chunks begin at a multiple
/// of 16.
inline int64_t rowsOfChunk(int64_t rows, int64_t chunks) {
  return llvm::alignTo(llvm::divideCeil(rows, chunks), rows >= 64 * chunks ? 16 : 1);
}

} // namespace kedge
