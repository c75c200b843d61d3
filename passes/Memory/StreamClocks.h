// What is known to be done when a launch starts: the meaning of streams and events in an exec.function.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"
#include <vector>

namespace kedge::memory {

class StreamClocks {
public:
  /// Adds the next launch. `after`: earlier launches whose events it waits for.
  void add(int64_t stream, llvm::ArrayRef<int64_t> after);
  /// The launch that is added last waits for `launch`, too.
  void wait(int64_t launch);
  /// Whether launch `first` is known to be done when `second` starts; both were added.
  bool precedes(int64_t first, int64_t second) const;
  int64_t streamOf(int64_t launch) const { return streams[launch]; }

private:
  /// By stream: its last launch that is known to be done; -1: none.
  using Clock = llvm::SmallVector<int64_t, 3>;
  static void merge(Clock &into, const Clock &from);

  std::vector<int64_t> streams; ///< by launch
  std::vector<Clock> done;      ///< by launch: when it starts
  Clock last;                   ///< by stream: the launch that was added last
};

} // namespace kedge::memory
