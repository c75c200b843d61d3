#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Lower/Codegen/SharedCode.h"
#include "passes/Lower/Passes.h"

namespace kedge::lower {
#define GEN_PASS_DEF_SHARECODE
#include "passes/Lower/Passes.h.inc"

namespace {

struct ShareCode : impl::ShareCodeBase<ShareCode> {
  void run() override {
    const SharedCode made = shareCode(getOperation());
    addStatistic("kernels", made.kernels);
    addStatistic("functions", made.functions);
  }
};

} // namespace
} // namespace kedge::lower
