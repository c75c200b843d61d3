#include "test/support/GpuSimulator.h"
#include "lib/Support/Error.h"
#include "passes/Lower/Codegen/Codegen.h"
#include "passes/Lower/Codegen/JitProgram.h"
#include "test/support/GpuOnHost.h"
#include "test/support/GpuThreads.h"

using namespace mlir;

namespace kedge::test {

GpuSimulator::GpuSimulator(mlir::gpu::GPUModuleOp source) {
  ObjectFiles objects;
  for (HostKernel &kernel : kernelsOnHost(source)) {
    kernels[kernel.name] = {kernel.meets, kernel.sharedBytes};
    auto compiled = lower::compileKernels(*kernel.module, lower::KernelTarget::host(), 1);
    if (failed(compiled))
      fail("GPU kernel {} is not compiled for the host", kernel.name);
    std::move(compiled->begin(), compiled->end(), std::back_inserter(objects));
  }
  if (!objects.empty())
    program = lower::JitProgram::create(objects);
}

GpuSimulator::~GpuSimulator() = default;

void GpuSimulator::run(const lower::gpu::LaunchCode &code, llvm::ArrayRef<char *> tensors, char *workspace) {
  for (const lower::gpu::KernelLaunch &launch : code.kernels) {
    const Kernel &facts = kernels.at(launch.name);
    KedgeKernel kernel = program->lookup(launch.name);
    std::vector<char *> arguments;
    for (const auto &operand : launch.operands)
      arguments.push_back(operand.kind == lower::gpu::KernelLaunch::Operand::Tensor
                              ? tensors[operand.value]
                              : workspace + operand.value);
    const KernelCode host{launch.name, kernel, facts.meets, facts.sharedBytes};
    runGrid(host, launch.grid, launch.block, arguments.data(), random);
  }
}

} // namespace kedge::test
