#include "runtime/platform/Threads.h"
#include <algorithm>
#include <fstream>
#include <linux/futex.h>
#include <sched.h>
#include <set>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kedge::rt::platform {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the kernel waits on the word itself");

void futex(std::atomic<uint32_t> &word, int operation, int32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), operation, value, nullptr, nullptr, 0);
}

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

std::string firstLine(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int coresAmong(const cpu_set_t &allowed) {
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed))
      continue;
    const std::string name = std::to_string(cpu);
    const std::string siblings =
        firstLine("/sys/devices/system/cpu/cpu" + name + "/topology/thread_siblings_list");
    cores.insert(siblings.empty() ? name : siblings);
  }
  return std::max<int>(1, static_cast<int>(cores.size()));
}

} // namespace

void sleepWhile(std::atomic<uint32_t> &word, uint32_t seen) {
  futex(word, FUTEX_WAIT_PRIVATE, static_cast<int32_t>(seen));
}

void wakeAll(std::atomic<uint32_t> &word) { futex(word, FUTEX_WAKE_PRIVATE, INT32_MAX); }

void runPromptly() {
  prctl(PR_SET_TIMERSLACK, kSlackNanoseconds);
  Attributes attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != SCHED_OTHER)
    return; // others decided how it runs
  attributes.runtime = kSliceNanoseconds;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

int usableCores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? coresAmong(allowed) : 1;
}

int machineCores() {
  cpu_set_t online;
  CPU_ZERO(&online);
  for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); ++cpu)
    CPU_SET(static_cast<int>(cpu), &online);
  return coresAmong(online);
}

bool mayUseTiles() {
#if defined(__x86_64__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

} // namespace kedge::rt::platform
