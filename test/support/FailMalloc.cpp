// Preloaded into a tool: the N-th allocation behind the beginning of its main() fails (KEDGE_FAIL_ALLOCATION=N).
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
}

namespace {

std::atomic<long> left{-1}; // negative: none fails

bool fails() {
  if (left.load(std::memory_order_relaxed) < 0 || left.fetch_sub(1, std::memory_order_relaxed) != 1)
    return false;
  errno = ENOMEM;
  return true;
}

int (*realMain)(int, char **, char **);

int countedMain(int argc, char **argv, char **environment) {
  if (const char *text = std::getenv("KEDGE_FAIL_ALLOCATION"))
    left.store(std::atol(text));
  unsetenv("KEDGE_FAIL_ALLOCATION"); // not those of the processes that it starts
  unsetenv("LD_PRELOAD");
  return realMain(argc, argv, environment);
}

} // namespace

extern "C" {

void *malloc(size_t size) { return fails() ? nullptr : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? nullptr : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return fails() ? nullptr : __libc_realloc(old, size); }
void *aligned_alloc(size_t align, size_t size) { return fails() ? nullptr : __libc_memalign(align, size); }
int posix_memalign(void **place, size_t align, size_t size) {
  *place = fails() ? nullptr : __libc_memalign(align, size);
  return *place ? 0 : ENOMEM;
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(), void (*fini)(),
                      void (*loaderEnd)(), void *stackEnd) {
  realMain = main;
  auto real = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return real(countedMain, argc, argv, init, fini, loaderEnd, stackEnd);
}
}
