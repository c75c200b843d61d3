// Loops on threads that somebody else owns: those of a program that a model is a part of.
#pragma once
#include <cstdint>

namespace kedge::rt {

/// run(self, count, task, context) calls task(context, i) for every i in [0, count), at once or one after the other, on
/// any threads, and returns when all of them have returned.
struct TaskRunner {
  void (*run)(void *self, int64_t count, void (*task)(void *context, int64_t index), void *context) = nullptr;
  void *self = nullptr;
};

/// While it lives, the loops of the calling thread run on `runner` (null: on the process's own threads).
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
