#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Lower/Passes.h"

namespace kedge::lower {
#define GEN_PASS_DEF_LAUNCHDEPENDENTS
#include "passes/Lower/Passes.h.inc"

namespace {
using namespace mlir;

struct LaunchDependents : impl::LaunchDependentsBase<LaunchDependents> {
  void run() override {
    int64_t kernels = 0;
    getOperation().walk([&](mlir::gpu::GPUFuncOp function) {
      if (!function.isKernel())
        return;
      ++kernels;
      auto b = OpBuilder::atBlockBegin(&function.getBody().front());
      // First the wait: who waits for this kernel alone then knows that all before it is done, too.
      for (NVVM::GridDepActionKind action :
           {NVVM::GridDepActionKind::wait, NVVM::GridDepActionKind::launch_dependents})
        NVVM::GriddepcontrolOp::create(b, function.getLoc(), action);
    });
    addStatistic("kernels", kernels);
  }
};
} // namespace
} // namespace kedge::lower
