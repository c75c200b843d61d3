#include "runtime/platform/Threads.h"
#include <algorithm>
#include <sys/sysctl.h>

namespace kedge::rt::platform {

/// The C++ library's own waits: the system's function for them is public from macOS 14.4 on.
void sleepWhile(std::atomic<uint32_t> &word, uint32_t seen) { word.wait(seen); }

void wakeAll(std::atomic<uint32_t> &word) { word.notify_all(); }

void runPromptly() {}

/// No process is kept to some of them.
int usableCores() { return machineCores(); }

int machineCores() {
  int count = 0;
  size_t size = sizeof count;
  return sysctlbyname("hw.physicalcpu", &count, &size, nullptr, 0) == 0 ? std::max(1, count) : 1;
}

bool mayUseTiles() { return false; }

} // namespace kedge::rt::platform
