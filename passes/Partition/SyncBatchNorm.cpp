#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "passes/Partition/Passes.h"

namespace kedge::partition {
#define GEN_PASS_DEF_SYNCBATCHNORM
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;

/// One norm written as ops, with sums over ranks and micro-batches.
class Writer {
public:
  Writer(train::BatchNormOp norm, dist::RankGroup group, int64_t microBatches)
      : norm(norm), group(group), microBatches(microBatches), builder(norm), loc(norm.getLoc()),
        shape(shapeOf(norm.getX())) {
    for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
      if (dim != 1)
        reduced.push_back(dim);
    broadcast.assign(shape.size(), 1);
    broadcast[1] = shape[1];
    const int64_t ofChannel = elementCount(shape) / shape[1];
    count = static_cast<double>(ofChannel * group.ranks * microBatches);
  }

  void write() {
    Type single = cast<RankedTensorType>(norm.getMean().getType()).getElementType();
    Value x = converted(norm.getX(), single);
    Value mean = meanOf(x);
    Value centered = onnx::SubOp::create(builder, loc, x, alongChannels(mean));
    Value variance = meanOf(onnx::MulOp::create(builder, loc, centered, centered));
    Value shifted = onnx::AddOp::create(
        builder, loc, variance, scalarLike(builder, loc, variance, norm.getEpsilon().convertToDouble()));
    Value deviation = onnx::SqrtOp::create(builder, loc, shifted);
    Value invstd = onnx::DivOp::create(builder, loc, scalarLike(builder, loc, deviation, 1), deviation);
    Value normalized = onnx::MulOp::create(builder, loc, centered, alongChannels(invstd));
    Value scaled =
        onnx::MulOp::create(builder, loc, normalized, alongChannels(converted(norm.getScale(), single)));
    Value y = onnx::AddOp::create(builder, loc, scaled, alongChannels(converted(norm.getB(), single)));
    bool corrects = norm.getUnbiased() && count > 1;
    norm.getY().replaceAllUsesWith(converted(y, elementOf(norm.getY())));
    norm.getRunningMean().replaceAllUsesWith(running(norm.getInputMean(), mean, 1));
    norm.getRunningVar().replaceAllUsesWith(
        running(norm.getInputVar(), variance, corrects ? count / (count - 1) : 1));
    norm.getMean().replaceAllUsesWith(mean);
    norm.getInvstd().replaceAllUsesWith(invstd);
    norm.erase();
  }

private:
  Value converted(Value value, Type element) {
    return elementOf(value) == element
               ? value
               : onnx::CastOp::create(builder, loc, value, TypeAttr::get(element)).getResult();
  }

  /// Over all rows of all these ranks and micro-batches, a value a channel.
  Value meanOf(Value x) {
    Value sum = onnx::ReduceSumOp::create(builder, loc, x, reduced, false);
    if (microBatches > 1)
      sum = train::SumMicrosOp::create(builder, loc, sum.getType(), sum);
    if (!group.isAlone())
      sum = dist::AllReduceOp::create(builder, loc, sum, group, dist::ReduceKind::Sum).getResult(0);
    return onnx::MulOp::create(builder, loc, sum, scalarLike(builder, loc, sum, 1 / count));
  }

  Value alongChannels(Value perChannel) {
    return onnx::ReshapeOp::create(builder, loc, perChannel, builder.getDenseI64ArrayAttr(broadcast));
  }

  Value running(Value old, Value now, double factor) {
    double momentum = norm.getMomentum().convertToDouble();
    now = converted(now, elementOf(old));
    Value kept = onnx::MulOp::create(builder, loc, old, scalarLike(builder, loc, old, momentum));
    Value taken =
        onnx::MulOp::create(builder, loc, now, scalarLike(builder, loc, now, (1 - momentum) * factor));
    return onnx::AddOp::create(builder, loc, kept, taken);
  }

  train::BatchNormOp norm;
  dist::RankGroup group;
  const int64_t microBatches;
  PlacedBuilder builder;
  Location loc;
  SmallVector<int64_t> shape, reduced, broadcast;
  double count = 0; ///< values that a channel's statistics are of
};

struct SyncBatchNorm : impl::SyncBatchNormBase<SyncBatchNorm> {
  using Base::Base;

  void run() override {
    dist::RankGroup group = dist::rowGroup(getOperation());
    if (!overRanks)
      group.ranks = 1;
    if (group.isAlone() && microBatches == 1)
      return;
    SmallVector<train::BatchNormOp> norms;
    getOperation().walk([&](train::BatchNormOp norm) { norms.push_back(norm); });
    for (train::BatchNormOp norm : norms)
      Writer(norm, group, microBatches).write();
    addStatistic("norms", static_cast<int64_t>(norms.size()));
  }
};
} // namespace
} // namespace kedge::partition
