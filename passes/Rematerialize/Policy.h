// The policies of --recompute.
#pragma once
#include <cstdint>
#include <string>

namespace kedge::remat {

/// Which activations are dropped after the forward pass and computed again: none; full, all within a block;
/// segments=N, those inside N equal segments; nth=N, those within each N-th block; sqrt, segments by the
/// square root of the blocks; attention, those of attention alone; auto, what the solver chooses for a
/// budget.
struct Policy {
  enum class Kind { None, Full, Segments, Nth, Sqrt, Attention, Auto } kind = Kind::None;
  int64_t count = 0; ///< of segments=N and nth=N

  /// Throws kedge::Error.
  static Policy parse(const std::string &text);
  std::string text() const;
};

} // namespace kedge::remat
