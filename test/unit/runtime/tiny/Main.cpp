#include "runtime/train/ProgramMain.h"
#include "test/unit/runtime/tiny/Tiny.h"
#include <cstdlib>

// kedge-tiny-program SPEC [options of a compiled program]
int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  const std::string json = kedge::tiny::programJson(argv[1]);
  kedge::rt::ProgramImage image;
  image.json = json;
  image.kernel = kedge::tiny::kernelByName;
  argv[1] = argv[0];
  kedge::tiny::startFailing();
  const int code = kedge::rt::programMain(argc - 1, argv + 1, image);
  if (std::getenv("TINY_COUNT_ALLOCATIONS"))
    kedge::tiny::printAllocations();
  return code;
}
