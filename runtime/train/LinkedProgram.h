// main() of compiled programs, for each target's own: the symbols of runtime/abi/kedge_abi.h as an image.
#pragma once
#include "runtime/train/ProgramMain.h"
#include <unordered_map>

namespace kedge::rt {

/// The program that is linked here, on `device` (null: the host).
inline int linkedMain(int argc, char **argv, DeviceFactory device) {
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
