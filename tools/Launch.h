// What the tools' executables are: they start a function of the compiler's library. There are two files of
// it. libkedge-tools.so holds LLVM and starts in a third of the time (nothing of LLVM's is looked up by
// name); libkedge-compiler.so is over LLVM's shared libraries, which plugins share with it.
#pragma once
#include <climits>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace kedge::tool {

inline bool asksForPlugin(int argc, char **argv) {
  constexpr const char *flag = "load-pass-plugin";
  for (int at = 1; at < argc; ++at) {
    const char *name = argv[at] + strspn(argv[at], "-");
    if (name != argv[at] && strncmp(name, flag, strlen(flag)) == 0)
      return true;
  }
  return false;
}

/// NAME in the folder lib beside the folder of this executable; null when it is not there or cannot be
/// loaded.
inline void *openBeside(const char *name) {
  char path[PATH_MAX + 64];
  const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
  if (length <= 0)
    return nullptr;
  path[length] = 0;
  for (int folders = 0; folders < 2; ++folders)
    if (char *slash = strrchr(path, '/'))
      *slash = 0;
  strcat(strcat(path, "/lib/"), name);
  return dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
}

/// The exit code of `function` (Mains.h).
inline int launch(const char *function, int argc, char **argv) {
  void *library = asksForPlugin(argc, argv) ? nullptr : openBeside("libkedge-tools.so");
  if (!library)
    library = openBeside("libkedge-compiler.so.0");
  using Main = int (*)(int, char **);
  const auto run = library ? reinterpret_cast<Main>(dlsym(library, function)) : nullptr;
  if (run)
    return run(argc, argv);
  fprintf(stderr, "kedge: error: the compiler's library cannot be loaded: %s; install Kedge again\n",
          dlerror());
  return 1;
}

} // namespace kedge::tool
