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
  PtxInterpreter interpreter(*parsed, 1, firstIsEnough);
  for (const lower::gpu::KernelLaunch &kernel : code.kernels) {
    PtxLaunch launch{kernel.name, kernel.grid, kernel.block, {}, {}, INT64_MAX};
    for (const auto &operand : kernel.operands) {
      if (operand.kind == lower::gpu::KernelLaunch::Operand::Map) {
        const lower::gpu::TensorMap &map = kernel.maps[operand.value];
        launch.addMap(tensors[map.tensor].data() + map.offset, map.sizes, map.strides, map.box);
        continue;
      }
      const bool isTensor = operand.kind == lower::gpu::KernelLaunch::Operand::Tensor;
      launch.arguments.push_back(isTensor ? tensors[operand.value].data() : workspace.data() + operand.value);
    }
    for (llvm::MutableArrayRef<char> tensor : tensors)
      launch.memory.emplace_back(tensor.data(), tensor.size());
    launch.memory.emplace_back(workspace.data(), workspace.size());
    interpreter.run(launch);
    if (firstIsEnough && !interpreter.findings().empty())
      break;
  }
  std::string text;
  for (const auto &[finding, times] : interpreter.findings())
    text += finding + " (" + std::to_string(times) + " times)\n";
  return text;
}

Removals GpuPtx::removals(llvm::function_ref<bool()> isNoticed) {
  using Kind = PtxInstruction::Kind;
  // Lanes of a warp count as one, so bar.warp.sync is not among them.
  constexpr Kind kRemovable[] = {Kind::Barrier,       Kind::Wait,           Kind::Arrive,
                                 Kind::TryWait,       Kind::FenceProxy,     Kind::FenceMap,
                                 Kind::FenceProducts, Kind::CommitProducts, Kind::WaitForProducts};
  if (isNoticed())
    fail("findings in whole kernels");
  Removals removals;
  firstIsEnough = true;
  for (auto &[name, kernel] : parsed->all())
    for (PtxInstruction &instruction : kernel.code) {
      const Kind kind = instruction.kind;
      if (instruction.times == 0 || !llvm::is_contained(kRemovable, kind))
        continue;
      instruction.isRemoved = true;
      instruction.kind = kind == Kind::TryWait ? kind : Kind::Nothing;
      ++removals.tried;
      if (!isNoticed())
        removals.unnoticed.push_back(name + " " + std::to_string(&instruction - kernel.code.data()) + " " +
                                     instruction.text);
      instruction.kind = kind;
      instruction.isRemoved = false;
    }
  firstIsEnough = false;
  return removals;
}

} // namespace kedge::test
