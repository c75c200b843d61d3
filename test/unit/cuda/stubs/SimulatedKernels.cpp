#include "test/unit/cuda/stubs/SimulatedKernels.h"
#include "test/support/GpuThreads.h"
#include "test/unit/cuda/stubs/PtxKernels.h"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace kedge::stub {

void stop(const std::string &why) {
  std::fprintf(stderr, "stub driver: %s\n", why.c_str());
  std::abort();
}

namespace {

void *library() {
  static void *const opened = [] {
    const char *path = std::getenv("KEDGE_STUB_KERNELS");
    void *handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (path && !handle)
      stop(dlerror());
    return handle;
  }();
  return opened;
}

void *symbol(const std::string &name) {
  void *found = dlsym(library(), name.c_str());
  if (!found)
    stop("KEDGE_STUB_KERNELS has no " + name);
  return found;
}

} // namespace

Simulated simulated(const char *name) {
  if (hasPtx())
    return std::make_shared<SimulatedKernel>(
        SimulatedKernel{name, nullptr, operandsInPtx(name), true, sharedBytesInPtx(name)});
  if (!library())
    return nullptr;
  const auto *facts = static_cast<const int64_t *>(symbol(std::string(name) + "_facts"));
  SimulatedKernel kernel{name, reinterpret_cast<KedgeKernel>(symbol(name)), facts[0], facts[1] != 0,
                         facts[2]};
  return std::make_shared<SimulatedKernel>(kernel);
}

void runSimulated(const SimulatedKernel &kernel, std::array<int64_t, 3> grid, std::array<int64_t, 3> block,
                  const std::vector<char *> &arguments, const std::vector<std::span<char>> &memory) {
  if (!kernel.function)
    return runPtx(kernel.name, grid, block, arguments, memory);
  static std::mt19937 random{1};
  try {
    test::runGrid({kernel.name, kernel.function, kernel.meets, kernel.sharedBytes}, grid, block,
                  arguments.data(), random);
  } catch (const std::exception &error) {
    stop(error.what());
  }
}

} // namespace kedge::stub
