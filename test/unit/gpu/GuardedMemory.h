// Bytes between pages that nobody may touch.
#pragma once
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace kedge::test {

/// `bytes` of memory aligned to 16 that end at a forbidden page (or begin behind one), but for less than 16
/// bytes of padding, which are watched. A kernel that leaves its tensor is stopped by the processor, or
/// leaves a trace.
class GuardedMemory {
public:
  enum class Guard { End, Begin };
  GuardedMemory(size_t bytes, Guard guard) : bytes(bytes), page(sysconf(_SC_PAGESIZE)) {
    padded = (bytes + 15) / 16 * 16;
    mapped = (padded + page - 1) / page * page + 2 * page;
    base = static_cast<char *>(mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED || mprotect(base + page, mapped - 2 * page, PROT_READ | PROT_WRITE) != 0)
      throw std::runtime_error("no guarded memory of " + std::to_string(bytes) + " bytes");
    start = guard == Guard::End ? base + mapped - page - padded : base + page;
    std::memset(start + bytes, kPadding, padded - bytes);
  }
  GuardedMemory(const GuardedMemory &) = delete;
  ~GuardedMemory() { munmap(base, mapped); }

  char *data() { return start; }
  size_t size() const { return bytes; }
  bool isPaddingWhole() const {
    for (size_t at = bytes; at < padded; ++at)
      if (start[at] != kPadding)
        return false;
    return true;
  }

private:
  static constexpr char kPadding = 0x5a;
  size_t bytes, page, padded, mapped;
  char *base, *start;
};

} // namespace kedge::test
