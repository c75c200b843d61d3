#include "kedge/Dialect/Sched/FastExponentials.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_APPROXIMATEEXPONENTIALS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

struct ApproximateExponentials : impl::ApproximateExponentialsBase<ApproximateExponentials> {
  void run() override {
    int64_t exponentials = 0;
    getOperation().walk(
        [&](sched::ClusterOp cluster) { exponentials += sched::markFastExponentials(cluster); });
    addStatistic("exponentials", exponentials);
  }
};
} // namespace
} // namespace kedge::schedule
