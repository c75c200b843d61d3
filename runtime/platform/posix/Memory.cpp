#include "runtime/platform/Memory.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <sys/mman.h>
#include <unistd.h>

namespace kedge::rt::platform {
namespace {

/// Read by a signal handler.
std::atomic<LostPage> hears{nullptr};

void putZeros(int, siginfo_t *info, void *) {
  const int before = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (!hears.load()(address) || mmap(reinterpret_cast<void *>(address / page * page), page, PROT_READ,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    std::signal(SIGBUS, SIG_DFL); // the access is tried again, and ends the process
  errno = before;
}

} // namespace

void unmapMemory(char *begin, uint64_t bytes) { munmap(begin, bytes); }

const char *mapFile(int descriptor, size_t bytes) {
  void *mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<const char *>(mapped);
}

void unmapFile(const char *begin, size_t bytes) { munmap(const_cast<char *>(begin), bytes); }

void releasePages(const char *begin, size_t bytes) {
  madvise(const_cast<char *>(begin), bytes, MADV_DONTNEED);
}

void watchPages(LostPage lost) {
  hears.store(lost);
  struct sigaction action{};
  action.sa_sigaction = putZeros;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

} // namespace kedge::rt::platform
