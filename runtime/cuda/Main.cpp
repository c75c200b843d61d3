#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/Tune.h"
#include "runtime/io/Error.h"
#include "runtime/program/PlansByWorld.h"
#include "runtime/train/LinkedProgram.h"
#include <cstdlib>

namespace {

/// KEDGE_TUNE=FILE: no run, but the algorithm table of this program's products (kedge-bench tune).
int tune(const char *path) {
  try {
    kedge::rt::cuda::tuneProgram(
        kedge::rt::parseProgram(kedge::rt::imageFor(kedge::rt::linkedImage(nullptr), 1, 1).json), path);
    return 0;
  } catch (const std::exception &error) {
    fmt::print(stderr, "kedge: error: {}\n", error.what());
    return 1;
  }
}

} // namespace

int main(int argc, char **argv) {
  if (const char *path = std::getenv("KEDGE_TUNE"); path && *path)
    return tune(path);
  return kedge::rt::linkedMain(argc, argv, kedge::rt::cuda::makeCudaDevice);
}
