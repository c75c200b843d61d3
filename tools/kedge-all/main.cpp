// All tools in one executable, for installations that bring LLVM along: the name that it is called by is the
// tool's.
#include "tools/Mains.h"
#include <cstring>

int main(int argc, char **argv) {
  const char *slash = argc > 0 ? std::strrchr(argv[0], '/') : nullptr;
  const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "kedge";
  if (std::strcmp(name, "kedge-opt") == 0)
    return kedge::tool::optMain(argc, argv);
  if (std::strcmp(name, "kedge-translate") == 0)
    return kedge::tool::translateMain(argc, argv);
  if (std::strcmp(name, "kedge-bench") == 0)
    return kedge::tool::benchMain(argc, argv);
  return kedge::tool::kedgeMain(argc, argv);
}
