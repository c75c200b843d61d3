// The memory of the process as the system counts it, and the report of --memory-report (docs/programs.md).
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

/// Anonymous resident bytes (RssAnon of /proc/self/status). Allocates nothing.
uint64_t anonymousBytes();

/// Resident bytes not backed by files: anonymous and shared memory (RssAnon and RssShmem). Allocates nothing.
uint64_t residentBytes();

/// Measures memory outside the arena, when the program starts and in its first steps.
class MemoryMeter {
public:
  /// Call before anything else is allocated.
  MemoryMeter();
  /// Starts the threads and measures their memory.
  void startThreads(int threads);
  /// Call after the arena is mapped and kernels are created.
  void noteKernels(const Executor &executor);
  /// Call after a step: notes growth outside the arena. Later steps allocate nothing, so growth then is not
  /// a reservation: `done`, the number of earlier steps, tells which steps are noted. Allocates nothing.
  void noteStep(int64_t done);

  /// The plan with measured reservations and their sum. Each has the anonymous bytes before and after
  /// (`rss_anon_before`, `rss_anon_after`); those before `library_kernels` are the last before the arena.
  /// `communication` is what the launches of `steps` steps sent, per step. The JSON text ends in a newline.
  std::string report(const Executor &executor, int64_t steps) const;

private:
  uint64_t atStart = 0, beforeArena = 0, afterKernels = 0, afterSteps = 0;
  uint64_t workspaces = 0;
};

} // namespace kedge::rt
