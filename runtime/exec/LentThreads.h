// Runs loops on threads of the caller, when a model is part of another program.
#pragma once
#include <cstdint>

namespace kedge::rt {

/// run(self, count, task, context) must call task(context, i) for every i in [0, count),
/// in parallel or not, on any threads, and return after all calls have returned.
struct TaskRunner {
  void (*run)(void *self, int64_t count, void (*task)(void *context, int64_t index), void *context) = nullptr;
  void *self = nullptr;
};

/// While it exists, loops of the calling thread run on `runner` (null: on the process's own threads).
class LentThreads {
public:
  explicit LentThreads(const TaskRunner *runner);
  ~LentThreads();
  LentThreads(const LentThreads &) = delete;
  LentThreads &operator=(const LentThreads &) = delete;

private:
  const TaskRunner *before;
};

} // namespace kedge::rt
