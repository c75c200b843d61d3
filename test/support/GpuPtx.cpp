#include "test/support/GpuPtx.h"
#include "lib/Support/Error.h"
#include "passes/Lower/Gpu/GpuCode.h"

using namespace mlir;

namespace kedge::test {

GpuPtx::GpuPtx(mlir::gpu::GPUModuleOp kernels, llvm::StringRef arch) {
  std::string error;
  auto ptx = lower::gpu::compileToPtx(kernels, arch, 3, &error);
  if (failed(ptx))
    fail("GPU kernels are not compiled: {}", error);
  parsed = std::make_unique<PtxProgram>(*ptx);
}

std::string GpuPtx::run(const lower::gpu::LaunchCode &code,
                        llvm::ArrayRef<llvm::MutableArrayRef<char>> tensors,
                        llvm::MutableArrayRef<char> workspace) {
  PtxInterpreter interpreter(*parsed, 1);
  for (const lower::gpu::KernelLaunch &kernel : code.kernels) {
    PtxLaunch launch{kernel.name, kernel.grid, kernel.block, {}, {}, INT64_MAX};
    for (const auto &operand : kernel.operands) {
      const bool isTensor = operand.kind == lower::gpu::KernelLaunch::Operand::Tensor;
      launch.arguments.push_back(isTensor ? tensors[operand.value].data() : workspace.data() + operand.value);
    }
    for (llvm::MutableArrayRef<char> tensor : tensors)
      launch.memory.emplace_back(tensor.data(), tensor.size());
    launch.memory.emplace_back(workspace.data(), workspace.size());
    interpreter.run(launch);
  }
  std::string text;
  for (const auto &[finding, times] : interpreter.findings())
    text += finding + " (" + std::to_string(times) + " times)\n";
  return text;
}

} // namespace kedge::test
