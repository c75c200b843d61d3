#include "lib/Dialect/Sched/FastExponentials.h"
#include "lib/Support/Statistics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_APPROXIMATEEXPONENTIALS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

struct ApproximateExponentials : impl::ApproximateExponentialsBase<ApproximateExponentials> {
  void runOnOperation() override {
    int64_t exponentials = 0;
    getOperation().walk(
        [&](sched::ClusterOp cluster) { exponentials += sched::markFastExponentials(cluster); });
    addStatistic("kedge-approximate-exponentials", "exponentials", exponentials);
  }
};
} // namespace
} // namespace kedge::schedule
