// Offsets for buffers with lifetimes. No MLIR: also the engine of `kedge-bench arena`.
#pragma once
#include <cstdint>
#include <vector>

namespace kedge::solver {

/// Lives in [lower, upper), in steps; `size` in bytes. Buffers that live at once must not overlap.
struct Buffer {
  int64_t lower = 0, upper = 0, size = 0;
  bool operator==(const Buffer &) const = default;
};

struct PackOptions {
  int64_t align = 64;   ///< bytes; sizes are rounded up to it and offsets are multiples of it
  int64_t effort = 0;   ///< elementary steps of the search (some 10^8 a second), 0: a default; the result depends on it
  double timeLimit = 0; ///< seconds of processor time, 0: none; replaces the default effort and makes the result depend on the machine
  uint64_t seed = 1;
};

struct Packing {
  std::vector<int64_t> offsets; ///< one a buffer, multiples of the alignment
  int64_t height = 0;           ///< largest offset + size
  int64_t load = 0;             ///< most bytes that live at once
  int64_t lowerBound = 0;       ///< proven: no packing is lower; above `load` where a search was exhausted
};

/// Places all buffers: first fit, then a search for lower packings until one meets the lower bound, is proven
/// lowest, or the effort is spent. Throws std::invalid_argument for a buffer with lower > upper or a negative size,
/// for an alignment below 1, and where the sizes add up to more than 2^62.
Packing packArena(const std::vector<Buffer> &buffers, const PackOptions &options);
Packing packArena(const std::vector<Buffer> &buffers, int64_t align = 64);

/// The most bytes that live at one step.
int64_t maxLoad(const std::vector<Buffer> &buffers, int64_t align = 64);

} // namespace kedge::solver
