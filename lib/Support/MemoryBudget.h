// The value of --memory-budget.
#pragma once
#include <cstdint>
#include <string>

namespace kedge {

/// BYTES; 24GiB (KiB, MiB, GiB, TiB are powers of 1024; KB, MB, GB, TB of 1000); 80% of the unconstrained
/// peak; activations=50% of the unconstrained transient peak, with the persistent bytes added; or device, the
/// device's memory.
struct MemoryBudget {
  enum class Kind { None, Bytes, PeakShare, ActivationShare, Device } kind = Kind::None;
  int64_t bytes = 0;  ///< of Bytes
  double percent = 0; ///< of the shares

  static MemoryBudget ofBytes(int64_t bytes) { return {Kind::Bytes, bytes, 0}; }
  /// An empty text means no budget. Throws kedge::Error for anything but a positive amount below 2^63 bytes.
  static MemoryBudget parse(const std::string &text);

  bool isGiven() const { return kind != Kind::None; }
  /// What parse reads as the same budget.
  std::string text() const;
};

/// Throws kedge::Error unless `text` is a positive number of bytes, with or without a unit.
int64_t parseBytes(const std::string &text);

/// "1.73 GiB", "512 B".
std::string formatBytes(int64_t bytes);

} // namespace kedge
