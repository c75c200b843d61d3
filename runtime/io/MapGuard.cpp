#include "runtime/io/MapGuard.h"
#include "runtime/platform/Memory.h"
#include <atomic>
#include <cstdint>

namespace kedge::rt {
namespace {

/// Read while a page is missed: fixed places, no locks. `length` is set last and cleared first.
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

const char *noteLost(uintptr_t address) {
  Map *map = mapOf(address);
  if (!map)
    return nullptr;
  lost.store(map);
  return map->path;
}

} // namespace

void guardMaps() { platform::watchPages(noteLost); }

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
