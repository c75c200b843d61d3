// BatchNormalization with running statistics: elementwise. Training mode is train.batch_norm.
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

LogicalResult BatchNormalizationOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                     Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = tensorType(adaptor.getX());
  if (x.getRank() < 2)
    return emitOptionalError(loc, "BatchNormalization needs X [N, C, ...], found ", x);
  for (Value perChannel : adaptor.getOperands().drop_front())
    if (shapeOf(perChannel) != ArrayRef<int64_t>{x.getDimSize(1)})
      return emitOptionalError(loc, "BatchNormalization needs ", x.getDimSize(1),
                               " elements, one a channel, found ", perChannel.getType());
  types.push_back(x);
  return success();
}

void BatchNormalizationOp::describeCluster(ClusterSpec &spec) {
  NormLayout layout = channelLayout(getContext(), shapeOf(getX()));
  layout.reduced.clear();
  layout.describe(spec);
  spec.inputMaps = {layout.data, layout.scale, layout.scale, layout.stat, layout.stat};
  spec.outputMaps = {layout.data};
}

void BatchNormalizationOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                            SmallVectorImpl<Value> &results) {
  Type type = scalars[0].getType();
  Value mean = body.cast(scalars[3], type), variance = body.cast(scalars[4], type);
  Value epsilon = body.constant(type, getEpsilon().convertToDouble());
  Value normalized = body.mul(body.sub(scalars[0], mean), body.rsqrt(body.add(variance, epsilon)));
  results.push_back(toResult(body, scaleAndShift(body, normalized, scalars[1], scalars[2]), getY()));
}

bool BatchNormalizationOp::isDifferentiableOperand(unsigned) { return true; }

/// Of mean and variance, where the model computes them: -scale invstd dB, -1/2 scale invstd^2 dScale.
static void buildStatisticsGradient(BatchNormalizationOp op, GradientBuilder &math, Value invstd,
                                    Value dScale, Value dB, SmallVectorImpl<Value> &grads) {
  auto like = [&](Value v, Value other) { return math.cast(v, elementOf(other)); };
  Value mean = op.getInputMean(), variance = op.getInputVar(),
        slope = math.mul(like(op.getScale(), invstd), invstd);
  grads.push_back(like(math.neg(math.mul(slope, like(dB, invstd))), mean));
  Value half = math.mul(slope, scalarLike(math.builder, math.loc, invstd, -0.5));
  grads.push_back(like(math.mul(math.mul(half, invstd), like(dScale, invstd)), variance));
}

// To X the statistics are constants, so dX = dY scale invstd: this very op around a mean and bias of zero.
LogicalResult BatchNormalizationOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                                  SmallVectorImpl<Value> &operandGrads) {
  Value dY = resultGrads[0];
  Value noBias = zerosLike(builder, getLoc(), getB()), noMean = zerosLike(builder, getLoc(), getInputMean());
  Value dX = BatchNormalizationOp::create(builder, getLoc(), dY, getScale(), noBias, noMean, getInputVar(),
                                          getEpsilonAttr());
  Value invstd = train::InvStdOp::create(builder, getLoc(), getInputVar(), getEpsilonAttr());
  SmallVector<Value> params;
  buildNormParamGradient(builder, getLoc(), channelLayout(getContext(), shapeOf(getX())), dY, getX(),
                         getScale(), getB(), getInputMean(), invstd, params);
  operandGrads.push_back(dX);
  operandGrads.append(params);
  GradientBuilder math{builder, getLoc()};
  buildStatisticsGradient(*this, math, invstd, params[0], params[1], operandGrads);
  return success();
}
