#include "lib/Analysis/LibraryCall.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Lower/Gpu/GpuCode.h"
#include "passes/Lower/Gpu/GpuLaunches.h"
#include "passes/Lower/Gpu/LaunchGroups.h"
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

  void run() override {
    ModuleOp module = getOperation();
    OwningOpRef<ModuleOp> result = ModuleOp::create(module.getLoc());
    auto b = OpBuilder::atBlockBegin(result->getBody());
    auto kernels = mlir::gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
    gpu::GpuEmitter emitter(kernels, warpgroups || arch == "sm_90a");
    bool alone = kernelsOnly || !arch.empty();
    auto take = [&](Operation *launch, const gpu::LaunchCode &code) {
      count(code);
      if (!alone)
        return note(launch, code, emitter);
      for (const gpu::KernelLaunch &kernel : code.kernels)
        sched::GridNote(&getContext())
            .setAttr(kernels.lookupSymbol(kernel.name), b.getStringAttr(sizesOf(kernel.grid)));
      return success();
    };
    if (failed(gpu::forEachLaunch(module, emitter, convolutions, !clustersOnly, take)))
      return signalPassFailure();
    addStatistic("launches", launches);
    addStatistic("kernels", emitter.kernelCount());
    addStatistic("workspace bytes", workspace);
    if (!arch.empty())
      compile(kernels);
    else if (kernelsOnly)
      module.getBodyRegion().takeBody(result->getBodyRegion());
    else
      module.push_back(result.release());
  }

private:
  void count(const gpu::LaunchCode &code) {
    launches += !code.isRuntimeCall;
    workspace += code.isRuntimeCall ? 0 : code.workspaceBytes;
  }

  /// Writes on the launch what the plan and the launch table ask of it.
  LogicalResult note(Operation *launch, const gpu::LaunchCode &code, gpu::GpuEmitter &emitter) {
    Builder b(&getContext());
    int64_t planned = plannedBytes(launch, code.workspaceBytes);
    if (planned != code.workspaceBytes)
      return launch->emitOpError("needs a workspace of ")
             << code.workspaceBytes << " bytes, planned were " << planned;
    sched::WorkspaceNote(&getContext()).setAttr(launch, b.getI64IntegerAttr(code.workspaceBytes));
    if (code.isRuntimeCall && code.kernels.empty())
      return success();
    SmallVector<Attribute> kernels;
    for (const gpu::KernelLaunch &kernel : code.kernels)
      kernels.push_back(gpu::kernelAttr(b, kernel));
    sched::KernelsNote(&getContext()).setAttr(launch, b.getArrayAttr(kernels));
    if (code.isRuntimeCall)
      return success();
    StringRef name = code.kernels.empty() ? StringRef("nothing") : StringRef(code.kernels.front().name);
    sched::KernelNote(&getContext()).setAttr(launch, b.getStringAttr(name));
    if (auto cluster = dyn_cast<sched::ClusterOp>(launch))
      noteFlat(cluster, emitter.emitFlat(cluster));
    return success();
  }

  /// What kedge-note-workspaces wrote, from which memory may have been planned; `otherwise` where it has not
  /// run.
  static int64_t plannedBytes(Operation *launch, int64_t otherwise) {
    if (IntegerAttr noted = sched::WorkspaceNote(launch->getContext()).getAttr(launch))
      return noted.getInt();
    return targetOf(launch->getParentOfType<ModuleOp>()) == TargetKind::Cuda ? 0 : otherwise;
  }

  static void noteFlat(sched::ClusterOp cluster, const std::optional<gpu::FlatCode> &flat) {
    Builder b(cluster.getContext());
    if (flat)
      sched::FlatNote(cluster.getContext())
          .setAttr(cluster,
                   b.getDictionaryAttr({b.getNamedAttr("function", b.getStringAttr(flat->function)),
                                        b.getNamedAttr("elements", b.getI64IntegerAttr(flat->elements))}));
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
