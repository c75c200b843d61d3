// The policies of --recompute.
#pragma once
#include <cstdint>
#include <string>

namespace kedge::remat {

/// none, full, segments=N, nth=N, sqrt, attention or auto.
struct Policy {
  enum class Kind { None, Full, Segments, Nth, Sqrt, Attention, Auto } kind = Kind::None;
  int64_t count = 0; ///< of segments=N and nth=N

  /// Throws kedge::Error.
  static Policy parse(const std::string &text);
  std::string text() const;
};

} // namespace kedge::remat
