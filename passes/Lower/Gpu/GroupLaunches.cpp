#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Lower/Gpu/LaunchGroups.h"
#include "passes/Lower/Passes.h"

namespace kedge::lower {
#define GEN_PASS_DEF_GROUPLAUNCHES
#include "passes/Lower/Passes.h.inc"

namespace {
using namespace mlir;

struct GroupLaunches : impl::GroupLaunchesBase<GroupLaunches> {
  using Base::Base;

  void run() override {
    getOperation().walk([&](mlir::gpu::GPUModuleOp kernels) {
      gpu::GroupCounts counts = gpu::groupLaunches(getOperation(), kernels, beside);
      addStatistic("launches grouped", counts.launches);
      addStatistic("groups", counts.groups);
    });
  }
};

} // namespace
} // namespace kedge::lower
