// What the stand-ins for CUDA's libraries share: a record of calls, and failures on demand.
//   KEDGE_STUB_LOG=FILE           a line for every call
//   KEDGE_STUB_FAIL=NAME:N:CODE   the N-th call (from 1) of NAME gives CODE
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <string>
#include <unistd.h>

namespace kedge::stub {

/// Appends a line; allocates nothing.
template <typename... Args> void record(const char *format, Args... args) {
  static const int file = [] {
    const char *path = std::getenv("KEDGE_STUB_LOG");
    return path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
  }();
  if (file < 0)
    return;
  char line[512];
  int count = 0;
  if constexpr (sizeof...(args) == 0)
    count = std::snprintf(line, sizeof(line) - 1, "%s", format);
  else
    count = std::snprintf(line, sizeof(line) - 1, format, args...);
  line[count++] = '\n';
  if (write(file, line, static_cast<size_t>(count)) < 0)
    return; // tests fill disks, too
}

/// The code that this call of `name` is to give, 0 for success.
inline int failure(const char *name) {
  static const char *wanted = std::getenv("KEDGE_STUB_FAIL");
  static int calls = 0;
  const size_t length = std::strlen(name);
  if (!wanted || std::strncmp(wanted, name, length) != 0 || wanted[length] != ':')
    return 0;
  char *rest = nullptr;
  const long number = std::strtol(wanted + length + 1, &rest, 10);
  return ++calls == number && *rest == ':' ? std::atoi(rest + 1) : 0;
}

/// Work on a stream of the driver's stand-in.
inline void enqueue(std::function<void()> work, void *stream) {
  using Enqueue = void (*)(std::function<void()> *, void *);
  if (auto driver = reinterpret_cast<Enqueue>(dlsym(RTLD_DEFAULT, "kedge_stub_enqueue")))
    driver(&work, stream);
  else
    std::abort();
}

inline int64_t setting(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

} // namespace kedge::stub
