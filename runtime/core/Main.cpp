#include "runtime/core/ProgramMain.h"
#include <cstdlib>
#include <unistd.h>
#include <unordered_map>

namespace {

/// libgomp's threads spin for milliseconds between launches. On a machine that does anything else that takes
/// the processor from the thread they wait for: steps become ten times slower. A short spin covers the gap
/// between launches. libgomp reads its environment before main, so the program starts itself once more; when
/// it cannot, it goes on as it is.
void shortenSpinning(char **argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY"))
    return;
  setenv("GOMP_SPINCOUNT", "500", 1);
  execv("/proc/self/exe", argv);
}

} // namespace

int main(int argc, char **argv) {
  shortenSpinning(argv);
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
