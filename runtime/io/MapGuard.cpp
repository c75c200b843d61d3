#include "runtime/io/MapGuard.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace kedge::rt {
namespace {

/// Read by a signal handler: fixed places, no locks. `length` is set last and cleared first.
struct Map {
  std::atomic<bool> taken{false};
  std::atomic<uintptr_t> begin{0};
  std::atomic<size_t> length{0};
  char path[512] = "";
};

constexpr size_t kMaps = 1024;
Map maps[kMaps];
std::atomic<Map *> lost{nullptr};

Map *mapOf(uintptr_t address) {
  for (Map &map : maps)
    if (const size_t length = map.length.load(); length != 0 && address - map.begin.load() < length)
      return &map;
  return nullptr;
}

void putZeros(int, siginfo_t *info, void *) {
  const int before = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  Map *map = mapOf(address);
  if (!map || mmap(reinterpret_cast<void *>(address / page * page), page, PROT_READ,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
    std::signal(SIGBUS, SIG_DFL); // the access is tried again, and ends the process
    return;
  }
  lost.store(map);
  errno = before;
}

} // namespace

void guardMaps() {
  struct sigaction action{};
  action.sa_sigaction = putZeros;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

void noteMap(const void *begin, size_t length, const std::string &path) {
  for (Map &map : maps) {
    if (map.taken.exchange(true))
      continue;
    map.path[path.copy(map.path, sizeof(map.path) - 1)] = 0;
    map.begin.store(reinterpret_cast<uintptr_t>(begin));
    map.length.store(length);
    return;
  }
}

void forgetMap(const void *begin) {
  for (Map &map : maps)
    if (map.length.load() != 0 && map.begin.load() == reinterpret_cast<uintptr_t>(begin)) {
      map.length.store(0);
      map.taken.store(false);
      return;
    }
}

void failIfLost() {
  if (const Map *map = lost.load())
    throw LostFile(
        fmt::format("'{}' cannot be read any more: it has become shorter while the program ran, or its disk "
                    "failed; leave files alone that a program reads",
                    map->path));
}

} // namespace kedge::rt
