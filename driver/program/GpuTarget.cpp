#include "driver/program/GpuTarget.h"
#include "driver/options/CompileOptions.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace kedge::driver {

lower::gpu::GpuCode compileForGpu(ModuleOp kernels, const std::string &arch, FileCache *cache) {
  std::string error;
  auto code =
      lower::gpu::compileGpu(*kernels.getOps<mlir::gpu::GPUModuleOp>().begin(), arch, 3, &error, cache);
  if (failed(code))
    fail("code for {} could not be generated: {}", arch, error);
  return std::move(*code);
}

std::string architectureOf(const std::string &target) {
  const std::string arch = target == "cuda" ? "sm_90" : target.rfind("cuda:", 0) == 0 ? target.substr(5) : "";
  static const std::vector<std::string> known = {"sm_80",  "sm_86",  "sm_89", "sm_90",
                                                 "sm_90a", "sm_100", "sm_120"};
  if (std::find(known.begin(), known.end(), arch) == known.end())
    fail("--target {}: unknown target, expected cpu or cuda:ARCH with ARCH one of {}", target,
         fmt::join(known, ", "));
  return arch;
}

bool startsDependents(const std::string &arch) {
  constexpr int kFirst = 90;
  return std::atoi(arch.c_str() + std::string_view("sm_").size()) >= kFirst;
}

bool hasDependentLaunches(const MachineOptions &machine) {
  return machine.dependentLaunch && machine.target != "cpu" &&
         startsDependents(architectureOf(machine.target));
}

std::string ptxText(const lower::gpu::GpuCode &code, const std::string &arch) {
  std::string text =
      fmt::format("// Kernels for {}: registers of a thread, shared memory of a block, spills of a "
                  "thread in bytes\n",
                  arch);
  for (const auto &kernel : code.statistics)
    text += fmt::format(
        "// {}: {} registers, {} bytes shared, {} bytes stack, {} bytes spilled, {} bytes reloaded\n",
        kernel.name, kernel.registers, kernel.sharedBytes, kernel.stackBytes, kernel.spillStores,
        kernel.spillLoads);
  if (!code.note.empty())
    text += fmt::format("// {}\n", code.note);
  return text + code.ptx;
}

} // namespace kedge::driver
