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
      return failed(emitter.emit(cluster)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (emitted.wasInterrupted() || (lowerMath && failed(lower::lowerMath(*kernels))))
      return signalPassFailure();
    Builder b(&getContext());
    for (const KernelInfo &info : emitter.emitted()) {
      auto function = kernels->lookupSymbol<LLVM::LLVMFuncOp>(info.name);
      function->setAttr("sched.iterations", b.getI64IntegerAttr(info.iterations));
      function->setAttr("sched.grain", b.getI64IntegerAttr(info.grain));
    }
    module.getBodyRegion().takeBody(kernels->getBodyRegion());
    addStatistic("kedge-emit-kernels", "clusters", clusters);
    addStatistic("kedge-emit-kernels", "kernels", emitter.emitted().size());
  }
};

} // namespace
} // namespace kedge::lower
