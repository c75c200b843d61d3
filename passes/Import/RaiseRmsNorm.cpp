#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "passes/Import/MatchNorm.h"
#include "passes/Import/Passes.h"
#include "passes/Import/RaisePass.h"

namespace kedge::raise {
#define GEN_PASS_DEF_RAISERMSNORM
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

struct RaiseRmsNorm : impl::RaiseRmsNormBase<RaiseRmsNorm> {
  bool raise(Operation *root) override {
    auto norm = matchDeviation(root);
    if (!norm || norm->value.getType() != root->getResult(0).getType())
      return false;
    Value x = norm->value;
    AffineTail tail = followAffine(root->getResult(0), norm->axis, /*withBias=*/false);
    PlacedBuilder builder(tail.last.getDefiningOp());
    Value scale = rowScale(builder, tail.last.getLoc(), tail.scale, x, norm->axis);
    auto op = RMSNormalizationOp::create(builder, tail.last.getLoc(), x, scale, norm->axis,
                                         APFloat(float(norm->epsilon)));
    tail.last.replaceAllUsesWith(op.getY());
    return true;
  }
};
} // namespace
} // namespace kedge::raise
