#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "passes/Import/MatchNorm.h"
#include "passes/Import/Passes.h"
#include "passes/Import/RaisePass.h"

namespace kedge::raise {
#define GEN_PASS_DEF_RAISELAYERNORM
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

struct RaiseLayerNorm : impl::RaiseLayerNormBase<RaiseLayerNorm> {
  /// The x of x - mean(x), whose mean has the axis.
  static Value centeredFrom(Value centered, int64_t axis) {
    auto difference = defining<SubOp>(centered);
    auto mean = difference ? defining<ReduceMeanOp>(difference.getB()) : ReduceMeanOp();
    if (!mean || trailingMeanAxis(mean) != axis || !same(mean.getX(), difference.getA()))
      return {};
    return skip(difference.getA());
  }

  bool raise(Operation *root) override {
    auto norm = matchDeviation(root);
    Value x = norm ? centeredFrom(norm->value, norm->axis) : Value();
    if (!x || x.getType() != root->getResult(0).getType())
      return false;
    AffineTail tail = followAffine(root->getResult(0), norm->axis, /*withBias=*/true);
    PlacedBuilder builder(tail.last.getDefiningOp());
    Location loc = tail.last.getLoc();
    Value scale = rowScale(builder, loc, tail.scale, x, norm->axis);
    Value bias = tail.bias ? rowScale(builder, loc, tail.bias, x, norm->axis) : Value();
    if (bias && bias.getType() != scale.getType())
      return false;
    auto op =
        LayerNormalizationOp::create(builder, loc, x, scale, bias, norm->axis, APFloat(float(norm->epsilon)));
    tail.last.replaceAllUsesWith(op.getY());
    return true;
  }
};
} // namespace
} // namespace kedge::raise
