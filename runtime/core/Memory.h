// What the process holds, as the system counts it, and the report of contract section 5.
#pragma once
#include "runtime/core/Executor.h"

namespace kedge::rt {

/// Anonymous resident bytes (RssAnon of /proc/self/status). Allocates nothing.
uint64_t anonymousBytes();

/// Memory outside the arena, measured as the program starts and in its first steps.
class MemoryMeter {
public:
  struct Reservation {
    const char *name;
    uint64_t bytes;
    const char *source;
  };

  /// Call before anything else is allocated.
  MemoryMeter();
  /// Starts the threads and notes what they take.
  void startThreads(int threads);
  /// After the arena is mapped and kernels are made.
  void noteKernels(const Executor &executor);
  /// After a step: growth beyond the arena since noteKernels. Allocates nothing.
  void noteStep();

  /// The plan with measured reservations and what they add to. The JSON text ends in a newline.
  std::string report(const Executor &executor) const;

private:
  uint64_t beforeArena = 0, afterKernels = 0;
  uint64_t threads = 0, kernels = 0, workspaces = 0, steps = 0;
};

} // namespace kedge::rt
