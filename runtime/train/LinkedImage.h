// The program that this executable is linked with: the symbols of include/kedge/abi.h.
#pragma once
#include "runtime/program/Program.h"
#include <memory>
#include <unordered_map>

namespace kedge::rt {

/// Runs on `device` (null: the host).
inline ProgramImage linkedImage(DeviceFactory device) {
  auto kernels = std::make_shared<std::unordered_map<std::string, KedgeKernel>>();
  for (uint64_t i = 0; i < kedge_kernel_count; ++i)
    kernels->emplace(kedge_kernels[i].name, kedge_kernels[i].function);
  ProgramImage image;
  image.json = {kedge_program_json, kedge_program_json_size};
  image.data = kedge_program_data;
  image.dataSize = kedge_program_data_size;
  image.kernel = [kernels](const std::string &name) -> KedgeKernel {
    const auto found = kernels->find(name);
    return found == kernels->end() ? nullptr : found->second;
  };
  image.device = device;
  return image;
}

} // namespace kedge::rt
