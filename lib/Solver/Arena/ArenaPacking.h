// Finds offsets for buffers with lifetimes. Without MLIR, so that `kedge-bench arena` can use it, too.
#pragma once
#include <cstdint>
#include <vector>

namespace kedge::solver {

/// A buffer that is live in steps [lower, upper). `size` is in bytes. Buffers live at the same time must not
/// overlap.
struct Buffer {
  int64_t lower = 0, upper = 0, size = 0;
  bool operator==(const Buffer &) const = default;
};

struct PackOptions {
  int64_t align = 64; ///< bytes; sizes are rounded up to it and offsets are multiples of it
  int64_t effort =
      0; ///< steps of the search (about 10^8 a second); 0: a default. Equal effort gives equal results
  double timeLimit =
      0; ///< seconds of processor time, replaces the effort; 0: no limit. Results depend on the machine
  uint64_t seed = 1;
  bool operator==(const PackOptions &) const = default;
};

struct Packing {
  std::vector<int64_t> offsets; ///< one per buffer, multiples of the alignment
  int64_t height = 0;           ///< largest offset + size
  int64_t load = 0;             ///< most bytes live at the same time
  int64_t lowerBound = 0;       ///< proven: no packing is lower; above `load` if a search proved more
};

/// Places all buffers: first fit, then a search for lower packings. The search ends when a packing meets
/// the lower bound, when it is proven lowest, or when the effort is used up. Throws std::invalid_argument
/// for lower > upper, a negative size, an alignment below 1, or sizes that add up to more than 2^62.
Packing packArena(const std::vector<Buffer> &buffers, const PackOptions &options);
Packing packArena(const std::vector<Buffer> &buffers, int64_t align = 64);

/// The most bytes that are live at one step.
int64_t maxLoad(const std::vector<Buffer> &buffers, int64_t align = 64);

} // namespace kedge::solver
