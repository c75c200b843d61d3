// kedge-tiny-cuda-program SPEC [options]: the programs of the runtime's tests, compiled by hand for CUDA.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/train/ProgramMain.h"
#include "test/unit/runtime/tiny/Tiny.h"
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;

std::map<std::string, int> &operandCounts() {
  static std::map<std::string, int> counts;
  return counts;
}

/// One thread an iteration, operands in order.
void moveToGpu(json &launch) {
  const std::string name = launch.at("kernel");
  json operands = json::array();
  for (size_t i = 0; i < launch.at("args").size(); ++i)
    operands.push_back(i);
  operandCounts()[name] = static_cast<int>(operands.size());
  launch["kernels"] = {{{"name", name},
                        {"grid", {launch.value("iterations", 1), 1, 1}},
                        {"block", {1, 1, 1}},
                        {"operands", operands}}};
}

/// Every collective of a step runs on the stream of ranks, as compiled programs have it.
void moveToRankStream(json &launches) {
  constexpr size_t kEvents = 9;
  for (size_t i = 0; i + 1 < launches.size(); ++i)
    if (launches[i].value("library", "") == "dist.all_reduce") {
      launches[i].update({{"stream", 3}, {"records", kEvents + i}});
      launches[i + 1]["waits"].push_back(kEvents + i);
    }
}

std::string cudaProgram(const std::string &spec) {
  json program = json::parse(kedge::tiny::programJson(spec));
  program["target"] = {{"kind", "cuda"},
                       {"arch", "sm_90"},
                       {"ptx", {{"offset", 0}, {"length", 16}}},
                       {"cubin", {{"offset", 16}, {"length", 16}}}};
  for (auto &[name, function] : program["functions"].items())
    moveToRankStream(function["launches"]);
  for (auto &[name, function] : program["functions"].items())
    for (json &launch : function["launches"])
      if (launch.contains("kernel"))
        moveToGpu(launch);
  return program.dump();
}

} // namespace

/// What the driver's stand-in runs for a kernel.
extern "C" __attribute__((visibility("default"))) KedgeKernel kedge_stub_kernel(const char *name,
                                                                                int *operands) {
  const auto found = operandCounts().find(name);
  *operands = found == operandCounts().end() ? 0 : found->second;
  return kedge::tiny::kernelByName(name);
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  static const char code[33] = "//PTX          .ELF             ";
  const std::string text = cudaProgram(argv[1]);
  kedge::rt::ProgramImage image;
  image.json = text;
  image.data = reinterpret_cast<const unsigned char *>(code);
  image.dataSize = 32;
  image.device = kedge::rt::cuda::makeCudaDevice;
  argv[1] = argv[0];
  const int exitCode = kedge::rt::programMain(argc - 1, argv + 1, image);
  if (std::getenv("TINY_COUNT_ALLOCATIONS"))
    kedge::tiny::printAllocations();
  return exitCode;
}
