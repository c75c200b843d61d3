#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "passes/Import/Passes.h"
#include "passes/Import/RaisePass.h"

namespace kedge::raise {
#define GEN_PASS_DEF_RAISEGROUPNORM
#include "passes/Import/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

/// Whether v has one element a channel of x [N, C, ...], broadcast along everything else.
bool isPerChannel(Value v, Value x) {
  int64_t rank = rankOf(v), skipped = rankOf(x) - rank;
  if (skipped < 0 || skipped > 1 || elementOf(v) != elementOf(x))
    return false;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (shapeOf(v)[dim] != (dim + skipped == 1 ? shapeOf(x)[1] : 1))
      return false;
  return true;
}

/// The Mul or Add by channel that is the only user of v, and its parameter.
template <typename Op> std::pair<Op, Value> channelUser(Value v) {
  auto user = dyn_cast_or_null<Op>(onlyUser(v));
  Value parameter = user ? otherOperand(user, v) : Value();
  if (!parameter || user.getResult().getType() != v.getType() || !isPerChannel(parameter, v))
    return {};
  return {user, parameter};
}

struct RaiseGroupNorm : impl::RaiseGroupNormBase<RaiseGroupNorm> {
  bool raise(InstanceNormalizationOp root) override {
    auto grouped = defining<ReshapeOp>(root.getX());
    auto back = dyn_cast_or_null<ReshapeOp>(onlyUser(root.getY()));
    if (!grouped || !back || !isSplat(root.getScale(), 1.0) || !splatOf(root.getB()) ||
        *splatOf(root.getB()) != 0)
      return false;
    Value x = skip(grouped.getData()), result = back.getReshaped();
    int64_t groups = shapeOf(root.getX())[1];
    if (x.getType() != result.getType() || rankOf(x) < 2 || shapeOf(root.getX())[0] != shapeOf(x)[0] ||
        shapeOf(x)[1] % groups != 0)
      return false;
    auto [scaled, scale] = channelUser<MulOp>(result);
    if (!scaled)
      return false;
    auto [shifted, bias] = channelUser<AddOp>(scaled.getResult());
    if (!shifted)
      return false;
    PlacedBuilder builder(shifted);
    Location loc = shifted.getLoc();
    SmallVector<int64_t> channels = {shapeOf(x)[1]};
    Value flatScale = ReshapeOp::create(builder, loc, scale, channels);
    Value flatBias = ReshapeOp::create(builder, loc, bias, channels);
    auto op = GroupNormalizationOp::create(builder, loc, x, flatScale, flatBias, groups, root.getEpsilon());
    shifted.getResult().replaceAllUsesWith(op.getY());
    return true;
  }
};
} // namespace
} // namespace kedge::raise
