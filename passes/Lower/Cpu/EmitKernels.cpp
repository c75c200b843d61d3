#include "kedge/Support/Statistics.h"
#include "passes/Lower/Cpu/KernelEmitter.h"
#include "passes/Lower/Cluster/MathLowering.h"
#include "passes/Lower/Passes.h"

namespace kedge::lower {
#define GEN_PASS_DEF_EMITKERNELS
#include "passes/Lower/Passes.h.inc"

namespace {
using namespace mlir;

struct EmitKernels : impl::EmitKernelsBase<EmitKernels> {
  using EmitKernelsBase::EmitKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
    KernelEmitter emitter(*kernels);
    int64_t clusters = 0;
    auto emitted = module.walk([&](sched::ClusterOp cluster) {
      ++clusters;
      FailureOr<KernelInfo> kernel = emitter.emit(cluster);
      if (failed(kernel))
        return WalkResult::interrupt();
      if (!kernelsOnly)
        note(cluster, *kernel);
      return WalkResult::advance();
    });
    if (emitted.wasInterrupted() || (lowerMath && failed(lower::lowerMath(*kernels))))
      return signalPassFailure();
    if (kernelsOnly)
      replaceBy(*kernels, emitter.emitted());
    else
      module.push_back(kernels.release());
    addStatistic("kedge-emit-kernels", "clusters", clusters);
    addStatistic("kedge-emit-kernels", "kernels", emitter.emitted().size());
  }

  /// Writes on the cluster what the plan and the launch table ask of it.
  static void note(sched::ClusterOp cluster, const KernelInfo &kernel) {
    Builder b(cluster.getContext());
    cluster->setAttr("kedge.kernel", b.getStringAttr(kernel.name));
    cluster->setAttr("kedge.iterations", b.getI64IntegerAttr(kernel.iterations));
    cluster->setAttr("kedge.grain", b.getI64IntegerAttr(kernel.grain));
  }

  /// Kernels alone, with what their clusters would have been told.
  void replaceBy(ModuleOp kernels, ArrayRef<KernelInfo> emitted) {
    Builder b(&getContext());
    for (const KernelInfo &info : emitted) {
      auto function = kernels.lookupSymbol<LLVM::LLVMFuncOp>(info.name);
      function->setAttr("sched.iterations", b.getI64IntegerAttr(info.iterations));
      function->setAttr("sched.grain", b.getI64IntegerAttr(info.grain));
    }
    getOperation().getBodyRegion().takeBody(kernels.getBodyRegion());
  }
};

} // namespace
} // namespace kedge::lower
