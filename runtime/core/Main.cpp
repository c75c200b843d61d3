#include "runtime/core/ProgramMain.h"
#include <unordered_map>

int main(int argc, char **argv) {
  std::unordered_map<std::string, KedgeKernel> kernels;
  for (uint64_t i = 0; i < kedge_kernel_count; ++i)
    kernels.emplace(kedge_kernels[i].name, kedge_kernels[i].function);
  kedge::rt::ProgramImage image;
  image.json = {kedge_program_json, kedge_program_json_size};
  image.data = kedge_program_data;
  image.dataSize = kedge_program_data_size;
  image.kernel = [&](const std::string &name) -> KedgeKernel {
    auto found = kernels.find(name);
    return found == kernels.end() ? nullptr : found->second;
  };
  return kedge::rt::programMain(argc, argv, image);
}
