#include "kedge/Support/Statistics.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "passes/Lower/Gpu/LibraryKernels.h"
#include "passes/Lower/Passes.h"
#include "llvm/Support/raw_ostream.h"

namespace kedge::lower {
#define GEN_PASS_DEF_EMITGPUKERNELS
#include "passes/Lower/Passes.h.inc"

namespace {
using namespace mlir;

std::string sizesOf(std::array<int64_t, 3> sizes) {
  return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]) + "x" + std::to_string(sizes[2]);
}

struct EmitGpuKernels : impl::EmitGpuKernelsBase<EmitGpuKernels> {
  using EmitGpuKernelsBase::EmitGpuKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OwningOpRef<ModuleOp> result = ModuleOp::create(module.getLoc());
    auto b = OpBuilder::atBlockBegin(result->getBody());
    auto kernels = mlir::gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
    gpu::GpuEmitter emitter(kernels);
    gpu::Convolutions convolutions = generatedConvolutions ? gpu::Convolutions::Generated : gpu::Convolutions::Cudnn;
    auto emitted = module.walk([&](Operation *op) {
      FailureOr<gpu::LaunchCode> code = gpu::LaunchCode();
      if (auto cluster = dyn_cast<sched::ClusterOp>(op))
        code = emitter.emit(cluster);
      else if (auto call = dyn_cast<sched::LibraryOp>(op);
               call && !clustersOnly && !gpu::GpuEmitter::isRuntimeCall(call, convolutions))
        code = emitter.emit(call);
      else
        return WalkResult::advance();
      if (failed(code))
        return WalkResult::interrupt();
      launches += 1;
      record(*code, kernels);
      return WalkResult::advance();
    });
    if (emitted.wasInterrupted())
      return signalPassFailure();
    addStatistic("kedge-emit-gpu-kernels", "launches", launches);
    addStatistic("kedge-emit-gpu-kernels", "kernels", emitter.kernelCount());
    addStatistic("kedge-emit-gpu-kernels", "workspace bytes", workspace);
    if (!arch.empty())
      return compile(kernels);
    module.getBodyRegion().takeBody(result->getBodyRegion());
  }

private:
  /// Writes the launch on its kernels, for who reads the result.
  void record(const gpu::LaunchCode &code, mlir::gpu::GPUModuleOp kernels) {
    Builder b(&getContext());
    workspace += code.workspaceBytes;
    for (const gpu::KernelLaunch &launch : code.kernels)
      kernels.lookupSymbol(launch.name)->setAttr("sched.grid", b.getStringAttr(sizesOf(launch.grid)));
  }

  /// Prints PTX and statistics instead of IR; an empty module stays.
  void compile(mlir::gpu::GPUModuleOp kernels) {
    std::string error;
    auto code = gpu::compileGpu(kernels, arch, optLevel, &error);
    if (failed(code)) {
      getOperation().emitError(error);
      return signalPassFailure();
    }
    if (!code->note.empty())
      llvm::errs() << "kedge: " << code->note << "\n";
    if (!statisticsOnly)
      llvm::outs() << code->ptx;
    for (const gpu::KernelStatistics &kernel : code->statistics)
      llvm::outs() << "// " << kernel.name << ": " << kernel.registers << " registers, " << kernel.sharedBytes
                   << " shared, " << kernel.stackBytes << " stack, " << kernel.spillStores << " spilled\n";
    getOperation().getBody()->clear();
  }

  int64_t launches = 0, workspace = 0;
};

} // namespace
} // namespace kedge::lower
