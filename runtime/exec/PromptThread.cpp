#include "runtime/exec/PromptThread.h"
#include <cstdint>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kedge::rt {
namespace {

constexpr uint64_t kSlackNanoseconds = 1000;
/// The least that the kernel takes.
constexpr uint64_t kSliceNanoseconds = 100'000;

/// sched_attr of linux/sched/types.h, whose names are also the C library's, in its first version.
struct Attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};
static_assert(sizeof(Attributes) == 48);

} // namespace

void runPromptly() {
  prctl(PR_SET_TIMERSLACK, kSlackNanoseconds);
  Attributes attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != SCHED_OTHER)
    return; // others decided how it runs
  attributes.runtime = kSliceNanoseconds;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

} // namespace kedge::rt
