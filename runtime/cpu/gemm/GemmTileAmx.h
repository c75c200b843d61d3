// What the tiles of AMX have in common, on machines without it too: plans read it.
#pragma once
#include "runtime/cpu/gemm/GemmTile.h"

namespace kedge::rt::cpu {

/// A tile of 32 x 32 sums and 32 steps of k, without its functions.
template <typename E> constexpr GemmTile<E> amxTile(int64_t mostK, const GemmSizes &sizes) {
  GemmTile<E> tile{};
  tile.rows = tile.columns = tile.depth = 32;
  tile.step = 16;
  tile.mostK = mostK;
  tile.mostInRow = 8;
  tile.sizes = sizes;
  return tile;
}

} // namespace kedge::rt::cpu
