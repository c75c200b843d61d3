// Counts every call of malloc and mmap: the executable's definitions come before the C library's.
#include "test/unit/runtime/tiny/Tiny.h"
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr int kIntervals = 256;
std::atomic<long> calls{0};
long counts[kIntervals];
int intervals = 0;

bool started = false; ///< main() has begun

/// TINY_FAIL_ALLOCATION=N: the N-th allocation of main(), and every N-th after it, fails. 0: none.
long failing() {
  static const long every = [] {
    const char *text = getenv("TINY_FAIL_ALLOCATION");
    return text ? atol(text) : 0;
  }();
  return every;
}

bool fails() {
  static std::atomic<long> number{0};
  const long every = started ? failing() : 0;
  return every != 0 && number.fetch_add(1, std::memory_order_relaxed) % every == every - 1;
}

} // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t size) {
  calls.fetch_add(1, std::memory_order_relaxed);
  return fails() ? nullptr : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  calls.fetch_add(1, std::memory_order_relaxed);
  return fails() ? nullptr : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
  calls.fetch_add(1, std::memory_order_relaxed);
  return fails() ? nullptr : __libc_realloc(old, size);
}
void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) noexcept {
  calls.fetch_add(1, std::memory_order_relaxed);
  return reinterpret_cast<void *>(syscall(SYS_mmap, address, length, protection, flags, descriptor, offset));
}
}
#endif

namespace kedge::tiny {

void startFailing() { started = true; }

void markAllocations() {
  if (intervals < kIntervals)
    counts[intervals++] = calls.exchange(0, std::memory_order_relaxed);
}

void printAllocations() {
  std::printf("allocations:");
  for (int i = 1; i < intervals; ++i)
    std::printf(" %ld", counts[i]);
  std::printf("\n");
}

} // namespace kedge::tiny
