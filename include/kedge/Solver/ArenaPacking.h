// Offsets for buffers with lifetimes. No MLIR: also the engine of `kedge-bench arena`.
#pragma once
#include <cstdint>
#include <vector>

namespace kedge::solver {

/// Lives in [lower, upper), in steps; `size` in bytes. Buffers that live at once must not overlap.
struct Buffer {
  int64_t lower = 0, upper = 0, size = 0;
};

struct Packing {
  std::vector<int64_t> offsets; ///< one a buffer, multiples of the alignment
  int64_t height = 0;           ///< largest offset + size
  int64_t load = 0;             ///< lower bound: most bytes that live at once
};

/// Places all buffers. Sizes are rounded up to `align`. Deterministic; the best of several first-fit orders.
Packing packArena(const std::vector<Buffer> &buffers, int64_t align = 64);
/// The most bytes that live at one step.
int64_t maxLoad(const std::vector<Buffer> &buffers, int64_t align = 64);

} // namespace kedge::solver
