#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Lower/Cluster/MathLowering.h"
#include "passes/Lower/Cpu/KernelEmitter.h"
#include "passes/Lower/Passes.h"

namespace kedge::lower {
#define GEN_PASS_DEF_EMITKERNELS
#include "passes/Lower/Passes.h.inc"

namespace {
using namespace mlir;

struct EmitKernels : impl::EmitKernelsBase<EmitKernels> {
  using EmitKernelsBase::EmitKernelsBase;

  void run() override {
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
      module.push_back(noted(kernels.release(), emitter.emitted()));
    addStatistic("clusters", clusters);
    addStatistic("kernels", emitter.emitted().size());
  }

  static void noteSlices(Operation *op, const KernelInfo &kernel) {
    Builder b(op->getContext());
    sched::IterationsNote(op->getContext()).setAttr(op, b.getI64IntegerAttr(kernel.iterations));
    sched::GrainNote(op->getContext()).setAttr(op, b.getI64IntegerAttr(kernel.grain));
  }

  /// Writes on the cluster what the plan and the launch table ask of it.
  static void note(sched::ClusterOp cluster, const KernelInfo &kernel) {
    sched::KernelNote(cluster.getContext())
        .setAttr(cluster, StringAttr::get(cluster.getContext(), kernel.name));
    noteSlices(cluster, kernel);
  }

  /// Kernels with what their clusters are told: kedge-check-memory compares launches with it.
  static ModuleOp noted(ModuleOp kernels, ArrayRef<KernelInfo> emitted) {
    for (const KernelInfo &info : emitted)
      noteSlices(kernels.lookupSymbol<LLVM::LLVMFuncOp>(info.name), info);
    return kernels;
  }

  /// Kernels alone.
  void replaceBy(ModuleOp kernels, ArrayRef<KernelInfo> emitted) {
    getOperation().getBodyRegion().takeBody(noted(kernels, emitted).getBodyRegion());
  }
};

} // namespace
} // namespace kedge::lower
