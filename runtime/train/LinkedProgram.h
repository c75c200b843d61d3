// main() of compiled programs, for each target's own: the symbols of runtime/abi/kedge_abi.h as an image.
#pragma once
#include "runtime/train/ProgramMain.h"
#include <cstdlib>
#include <unistd.h>
#include <unordered_map>

namespace kedge::rt {

/// libgomp's threads spin for milliseconds between launches. On a machine that does anything else that takes
/// the processor from the thread they wait for: steps become ten times slower. A short spin covers the gap
/// between launches. libgomp reads its environment before main, so the program starts itself once more; when
/// it cannot, it goes on as it is.
inline void shortenSpinning(char **argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY"))
    return;
  setenv("GOMP_SPINCOUNT", "500", 1);
  execv("/proc/self/exe", argv);
}

/// The program that is linked here, on `device` (null: the host).
inline int linkedMain(int argc, char **argv, DeviceFactory device) {
  shortenSpinning(argv);
  std::unordered_map<std::string, KedgeKernel> kernels;
  for (uint64_t i = 0; i < kedge_kernel_count; ++i)
    kernels.emplace(kedge_kernels[i].name, kedge_kernels[i].function);
  ProgramImage image;
  image.json = {kedge_program_json, kedge_program_json_size};
  image.data = kedge_program_data;
  image.dataSize = kedge_program_data_size;
  image.kernel = [&](const std::string &name) -> KedgeKernel {
    auto found = kernels.find(name);
    return found == kernels.end() ? nullptr : found->second;
  };
  image.device = device;
  return programMain(argc, argv, image);
}

} // namespace kedge::rt
