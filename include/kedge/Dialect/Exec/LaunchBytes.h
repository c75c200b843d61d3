// Which bytes a launch of the exec IR reads and writes, and whether two launches may be reordered.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"

namespace kedge::exec {

/// Bytes [begin, end) of one of the arenas.
struct ArenaRange {
  bool onHost;
  int64_t begin, end;

  explicit ArenaRange(BufferOp buffer);
  bool overlaps(const ArenaRange &other) const {
    return onHost == other.onHost && begin < other.end && other.begin < end;
  }
};

/// The buffer that a launch operand refers to.
BufferOp bufferOf(mlir::Value operand);

/// The bytes that one launch or copy touches, or that several touch together. A workspace counts as written.
class LaunchBytes {
public:
  explicit LaunchBytes(LaunchInterface launch);
  void add(const LaunchBytes &other);
  bool writes(const ArenaRange &range) const;
  bool touches(const ArenaRange &range) const;
  /// Whether one writes bytes that the other touches. Then they may be neither reordered nor run at the same
  /// time.
  bool conflictsWith(const LaunchBytes &other) const;

private:
  llvm::SmallVector<ArenaRange> read, written;
};

} // namespace kedge::exec
