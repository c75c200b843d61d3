// All tools in one executable, for installations that bring LLVM along: the name that it is called by is the
// tool's.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int kedgeMain(int argc, char **argv);
int kedgeOptMain(int argc, char **argv);
int kedgeTranslateMain(int argc, char **argv);
int kedgeBenchMain(int argc, char **argv);

/// In place of what starts LLVM's other targets (CMakeLists.txt).
extern "C" void kedgeStartsNothing() {}

int main(int argc, char **argv) {
  const char *slash = argc > 0 ? std::strrchr(argv[0], '/') : nullptr;
  const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "kedge";
  if (std::strcmp(name, "kedge-opt") == 0)
    return kedgeOptMain(argc, argv);
  if (std::strcmp(name, "kedge-translate") == 0)
    return kedgeTranslateMain(argc, argv);
  if (std::strcmp(name, "kedge-bench") == 0)
    return kedgeBenchMain(argc, argv);
  return kedgeMain(argc, argv);
}
