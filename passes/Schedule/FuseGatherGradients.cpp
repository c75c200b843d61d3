#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/Train/EpilogueOps.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "passes/Schedule/Passes.h"

namespace kedge::schedule {
#define GEN_PASS_DEF_FUSEGATHERGRADIENTS
#include "passes/Schedule/Passes.h.inc"

namespace {
using namespace mlir;

/// Adding to a product's result needs no place of its own: nothing else reads it.
bool isOwnMatmul(Value value) {
  return value.hasOneUse() && isa_and_nonnull<onnx::MatMulOp, onnx::GemmOp>(value.getDefiningOp());
}

struct FuseGatherGradients : impl::FuseGatherGradientsBase<FuseGatherGradients> {
  void run() override {
    if (getOperation().isExternal() || dist::partsOf(getOperation()) == 0)
      return;
    int64_t joined = 0;
    for (auto sum : llvm::make_early_inc_range(getOperation().getBody().front().getOps<onnx::AddOp>()))
      joined += join(sum, sum.getA(), sum.getB()) || join(sum, sum.getB(), sum.getA());
    addStatistic("gradients joined", joined);
  }

  static bool join(onnx::AddOp sum, Value addend, Value gradient) {
    auto rows = gradient.getDefiningOp<train::GatherGradOp>();
    if (!rows || !gradient.hasOneUse() || !isOwnMatmul(addend) || addend.getType() != sum.getType() ||
        gradient.getType() != sum.getType())
      return false;
    PlacedBuilder builder(sum);
    auto fused =
        train::AddGatherGradOp::create(builder, sum.getLoc(), sum.getType(), rows.getDY(), rows.getIndices(),
                                       addend, rows.getAxisAttr(), rows.getPaddingIdxAttr());
    copyValueNotes(sum, fused);
    sum.replaceAllUsesWith(fused.getResult());
    sum.erase();
    rows.erase();
    return true;
  }
};
} // namespace
} // namespace kedge::schedule
