// Preloaded into a tool: the N-th allocation of C++ behind the beginning of its main() fails
// (KEDGE_FAIL_ALLOCATION=N). Not malloc's: MLIR's headers (InterfaceMap) take its result unasked.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <new>

namespace {

std::atomic<long> left{-1}; // negative: none fails

bool fails() {
  if (left.load(std::memory_order_relaxed) < 0 || left.fetch_sub(1, std::memory_order_relaxed) != 1)
    return false;
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

void *operator new(size_t size) {
  void *place = fails() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (!place)
    throw std::bad_alloc();
  return place;
}

extern "C" {

/// Not those of a library that a tool starts with: nothing can catch what its variables throw.
void *dlopen(const char *name, int mode) {
  const long kept = left.exchange(-1);
  void *library = reinterpret_cast<decltype(&dlopen)>(dlsym(RTLD_NEXT, "dlopen"))(name, mode);
  left.store(kept);
  return library;
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(),
                      void (*fini)(), void (*loaderEnd)(), void *stackEnd) {
  realMain = main;
  auto real = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return real(countedMain, argc, argv, init, fini, loaderEnd, stackEnd);
}
}
