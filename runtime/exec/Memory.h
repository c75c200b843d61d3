// What the process holds, as the system counts it, and the report of contract section 5.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

/// Anonymous resident bytes (RssAnon of /proc/self/status). Allocates nothing.
uint64_t anonymousBytes();

/// Resident bytes that are no file's: anonymous and shared memory (RssAnon and RssShmem). Allocates nothing.
uint64_t residentBytes();

/// Memory outside the arena, measured as the program starts and in its first steps.
class MemoryMeter {
public:
  /// Call before anything else is allocated.
  MemoryMeter();
  /// Starts the threads and notes what they take.
  void startThreads(int threads);
  /// After the arena is mapped and kernels are made.
  void noteKernels(const Executor &executor);
  /// After a step: growth beyond the arena since noteKernels. Later steps allocate nothing, so what grows then is
  /// no reservation: `done`, the steps before this one, says which are noted. Allocates nothing.
  void noteStep(int64_t done);

  /// The plan with measured reservations and what they add to. Each measured one tells the anonymous bytes before and
  /// after (`rss_anon_before`, `rss_anon_after`); those before `library_kernels` are the last before the arena.
  /// `communication` is what the launches of `steps` steps sent, a step. The JSON text ends in a newline.
  std::string report(const Executor &executor, int64_t steps) const;

private:
  uint64_t atStart = 0, beforeArena = 0, afterKernels = 0, afterSteps = 0;
  uint64_t workspaces = 0;
};

} // namespace kedge::rt
