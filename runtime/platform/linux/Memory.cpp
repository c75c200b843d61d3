#include "runtime/platform/Memory.h"
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace kedge::rt::platform {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t(1) << 21;

/// A number of /proc/self/status, in bytes.
uint64_t statusBytes(std::string_view key) {
  char text[4096];
  const int descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return 0;
  const ssize_t count = read(descriptor, text, sizeof(text) - 1);
  close(descriptor);
  if (count <= 0)
    return 0;
  text[count] = 0;
  const size_t at = std::string_view(text).find(key);
  return at == std::string_view::npos ? 0 : std::strtoull(text + at + key.size(), nullptr, 10) * 1024;
}

} // namespace

/// On huge pages where there are any, which saves address translation in large models.
char *mapMemory(uint64_t bytes) {
  const uint64_t slack = bytes >= 2 * kHugePage ? kHugePage : 0;
  void *mapped = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return nullptr;
  char *begin = static_cast<char *>(mapped);
  if (slack != 0) {
    const uint64_t skip = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
    if (skip != 0)
      munmap(begin, skip);
    begin += skip;
    const uint64_t used = (bytes + kPage - 1) / kPage * kPage;
    if (skip + used < bytes + slack)
      munmap(begin + used, bytes + slack - skip - used);
    madvise(begin, bytes, MADV_HUGEPAGE);
  }
  return begin;
}

uint64_t anonymousBytes() { return statusBytes("RssAnon:"); }
uint64_t sharedBytes() { return statusBytes("RssShmem:"); }

} // namespace kedge::rt::platform
