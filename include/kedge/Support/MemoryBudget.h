// What --memory-budget says.
#pragma once
#include <cstdint>
#include <string>

namespace kedge {

/// BYTES, 24GiB (KiB, MiB, GiB, TiB: powers of 1024; KB, MB, GB, TB: of 1000), 80% (of the unconstrained peak),
/// activations=50% (of the unconstrained transient peak, on top of what is held anyway) or device (its memory).
struct MemoryBudget {
  enum class Kind { None, Bytes, PeakShare, ActivationShare, Device } kind = Kind::None;
  int64_t bytes = 0;  ///< of Bytes
  double percent = 0; ///< of the shares
};

/// An empty text is no budget. Throws kedge::Error for anything that is not a positive amount below 2^63 bytes.
MemoryBudget parseMemoryBudget(const std::string &text);

/// "1.73 GiB", "512 B".
std::string formatBytes(int64_t bytes);

} // namespace kedge
