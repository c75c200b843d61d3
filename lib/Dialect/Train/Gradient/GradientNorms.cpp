// Gradients of norms, and batch norm in training.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
template <typename Op> NormLayout layoutOf(Op op) {
  NormLayout layout;
  layout.domain.assign(op.getDomain().begin(), op.getDomain().end());
  layout.reduced.assign(op.getReduced().begin(), op.getReduced().end());
  layout.data = op.getDataMap();
  layout.scale = op.getScaleMap();
  layout.stat = op.getStatMap();
  return layout;
}

/// (x - mean) * invstd; mean may be absent.
Value normalizedValue(ClusterBodyBuilder &body, Value x, Value invstd, Value mean) {
  return body.mul(mean ? body.sub(x, mean) : x, invstd);
}
} // namespace

void NormGradOp::describeCluster(ClusterSpec &spec) {
  NormLayout layout = layoutOf(*this);
  layout.describe(spec);
  spec.inputMaps = {layout.data, layout.data, layout.scale, layout.stat};
  if (getMean())
    spec.inputMaps.push_back(layout.stat);
  spec.outputMaps = {layout.data};
}

// With g = dY scale and n the normalised x: dX = invstd (g - mean(g) - n mean(g n)); a norm without mean
// lacks the middle term.
void NormGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                  SmallVectorImpl<Value> &results) {
  Type type = scalars[3].getType();
  Value dY = body.cast(scalars[0], type), x = body.cast(scalars[1], type), invstd = scalars[3];
  Value mean = getMean() ? scalars[4] : Value();
  Value count = body.constant(type, layoutOf(*this).count());
  Value normalized = normalizedValue(body, x, invstd, mean);
  Value g = body.mul(dY, body.cast(scalars[2], type));
  Value along = body.div(body.sum(body.mul(g, normalized)), count);
  Value centered = mean ? body.sub(g, body.div(body.sum(g), count)) : g;
  Value dX = body.mul(invstd, body.sub(centered, body.mul(normalized, along)));
  results.push_back(toResult(body, dX, getDX()));
}

void NormParamGradOp::describeCluster(ClusterSpec &spec) {
  NormLayout layout = layoutOf(*this);
  layout.describeParamGrad(spec);
  spec.inputMaps = {layout.data, layout.data, layout.stat};
  if (getMean())
    spec.inputMaps.push_back(layout.stat);
  spec.outputMaps.assign(getNumResults(), layout.scale);
}

void NormParamGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                       SmallVectorImpl<Value> &results) {
  Type type = scalars[2].getType();
  Value dY = body.cast(scalars[0], type), x = body.cast(scalars[1], type);
  Value normalized = normalizedValue(body, x, scalars[2], getMean() ? scalars[3] : Value());
  results.push_back(toResult(body, body.sum(body.mul(dY, normalized)), getDScale()));
  if (getDBias())
    results.push_back(toResult(body, body.sum(dY), getDBias()));
}

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX());
  if (x.getRank() < 2)
    return emitOptionalError(loc, "batch_norm needs X [N, C, ...], found ", x);
  for (Value perChannel : adaptor.getOperands().drop_front())
    if (shapeOf(perChannel) != ArrayRef<int64_t>{x.getDimSize(1)})
      return emitOptionalError(loc, "batch_norm needs ", x.getDimSize(1), " elements, one a channel, found ",
                               perChannel.getType());
  auto stat = RankedTensorType::get({x.getDimSize(1)}, statType(x.getElementType()));
  types.append({x, adaptor.getInputMean().getType(), adaptor.getInputVar().getType(), stat, stat});
  return success();
}

NormLayout BatchNormOp::normLayout() { return channelLayout(getContext(), shapeOf(getX())); }

void BatchNormOp::describeCluster(ClusterSpec &spec) {
  NormLayout layout = normLayout();
  layout.describe(spec);
  spec.inputMaps = {layout.data, layout.scale, layout.scale, layout.stat, layout.stat};
  spec.outputMaps = {layout.data, layout.stat, layout.stat, layout.stat, layout.stat};
}

void BatchNormOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                   SmallVectorImpl<Value> &results) {
  int64_t count = normLayout().count();
  Normalized norm = normalize(body, scalars[0], count, getEpsilon().convertToDouble());
  double momentum = getMomentum().convertToDouble();
  auto running = [&](Value old, Value now, double factor) {
    Type type = old.getType();
    Value kept = body.mul(old, body.constant(type, momentum));
    return body.add(kept, body.mul(body.cast(now, type), body.constant(type, (1 - momentum) * factor)));
  };
  double correction = getUnbiased() && count > 1 ? double(count) / double(count - 1) : 1.0;
  results.push_back(toResult(body, scaleAndShift(body, norm.value, scalars[1], scalars[2]), getY()));
  results.push_back(running(scalars[3], norm.mean, 1.0));
  results.push_back(running(scalars[4], norm.variance, correction));
  results.push_back(norm.mean);
  results.push_back(norm.invstd);
}

bool BatchNormOp::isDifferentiableOperand(unsigned index) { return index < 3; }

LogicalResult BatchNormOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0]) {
    operandGrads.assign(5, Value());
    return success();
  }
  buildNormGradient(builder, getLoc(), normLayout(), resultGrads[0], getX(), getScale(), getB(), getMean(),
                    getInvstd(), operandGrads);
  operandGrads.append({Value(), Value()});
  return success();
}

LogicalResult SumMicrosOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         SmallVectorImpl<Value> &operandGrads) {
  operandGrads.push_back(create(builder, getLoc(), getX().getType(), resultGrads[0]));
  return success();
}

LogicalResult InvStdOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto type = tensorType(adaptor.getVariance());
  types.push_back(type.clone(statType(type.getElementType())));
  return success();
}

void InvStdOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                SmallVectorImpl<Value> &results) {
  Value epsilon = body.constant(scalars[0].getType(), getEpsilon().convertToDouble());
  results.push_back(body.rsqrt(body.add(scalars[0], epsilon)));
}
