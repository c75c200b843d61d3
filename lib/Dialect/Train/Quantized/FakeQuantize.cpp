#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Quantized/FakeQuantizeOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;
using Compare = ClusterBodyBuilder::Compare;

namespace {
/// Accessors of attributes forget the sign.
double endOf(uint64_t end) { return static_cast<double>(static_cast<int64_t>(end)); }

Value number(ClusterBodyBuilder &b, Value like, double value) { return b.constant(like.getType(), value); }

/// x / scale, rounded, from the zero point on.
Value gridIndex(ClusterBodyBuilder &b, Value x, Value scale, Value zero) {
  return b.add(b.roundEven(b.div(x, scale)), zero);
}

Value isZero(ClusterBodyBuilder &b, Value v) { return b.compare(Compare::EQ, v, number(b, v, 0)); }
} // namespace

LogicalResult MovingRangeOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  types.append({adaptor.getMin().getType(), adaptor.getMax().getType()});
  return success();
}

/// The grid follows the values, and none of them follows the grid.
bool MovingRangeOp::isDifferentiableOperand(unsigned) { return false; }

LogicalResult MovingRangeOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &operandGrads) {
  operandGrads.append(4, Value());
  return success();
}

void MovingRangeOp::describeCluster(ClusterSpec &spec) { describeBroadcast(*this, shapeOf(getMin()), spec); }

void MovingRangeOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value isFirst = b.logicalAnd(isZero(b, v[2]), isZero(b, v[3]));
  Value averaging = number(b, v[2], getAveraging().convertToFloat());
  for (unsigned end : {0, 1}) {
    Value moved = b.add(v[2 + end], b.mul(averaging, b.sub(v[end], v[2 + end])));
    results.push_back(b.select(isFirst, v[end], moved));
  }
}

LogicalResult RangeScaleOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  types.append(2, RankedTensorType::get(shapeOf(adaptor.getMin()), Float32Type::get(context)));
  return success();
}

/// The grid follows the values, and none of them follows the grid.
bool RangeScaleOp::isDifferentiableOperand(unsigned) { return false; }

LogicalResult RangeScaleOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &operandGrads) {
  operandGrads.append(2, Value());
  return success();
}

void RangeScaleOp::describeCluster(ClusterSpec &spec) { describeBroadcast(*this, shapeOf(getMin()), spec); }

void RangeScaleOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  const double low = endOf(getLow()), high = endOf(getHigh());
  Type single = b.builder.getF32Type();
  Value none = b.constant(single, 0);
  Value min = b.minimum(b.cast(v[0], single), none), max = b.maximum(b.cast(v[1], single), none);
  if (low == -high) {
    Value scale = b.div(b.maximum(b.neg(min), max), b.constant(single, high));
    results.append({scale, none});
    return;
  }
  Value scale = b.div(b.sub(max, min), b.constant(single, high - low));
  Value first = b.sub(b.constant(single, low), b.roundEven(b.div(min, scale)));
  Value zero = b.minimum(b.maximum(first, b.constant(single, low)), b.constant(single, high));
  results.append({scale, b.select(isZero(b, scale), none, zero)});
}

LogicalResult FakeQuantizeOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getX().getType());
  return success();
}

void FakeQuantizeOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  const double low = endOf(getLow()), high = endOf(getHigh());
  Value index = gridIndex(b, v[0], v[1], v[2]);
  Value code = b.minimum(b.maximum(index, number(b, index, low)), number(b, index, high));
  Value onGrid = b.mul(b.sub(code, v[2]), v[1]);
  results.push_back(b.select(isZero(b, v[1]), v[0], onGrid));
}

LogicalResult FakeQuantizeOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                            SmallVectorImpl<Value> &operandGrads) {
  Value ofScale;
  if (auto learning = getLearningAttr()) {
    Value parts = FakeQuantizeScaleGradOp::create(builder, getLoc(), resultGrads[0], getX(), getScale(),
                                                  getZero(), getLowAttr(), getHighAttr());
    Value sum = reduceTo(builder, getLoc(), parts, getScale());
    ofScale = onnx::MulOp::create(builder, getLoc(), sum,
                                  scalarLike(builder, getLoc(), sum, learning.getValueAsDouble()));
  }
  operandGrads.append({FakeQuantizeGradOp::create(builder, getLoc(), resultGrads[0], getX(), getScale(),
                                                  getZero(), getLowAttr(), getHighAttr()),
                       ofScale, Value()});
  return success();
}

bool FakeQuantizeOp::isDifferentiableOperand(unsigned index) { return index < 2; }

LogicalResult FakeQuantizeGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                   SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getGrad().getType());
  return success();
}

void FakeQuantizeGradOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v,
                                          SmallVectorImpl<Value> &results) {
  Value index = gridIndex(b, v[1], v[2], v[3]);
  Value inside = b.logicalAnd(b.compare(Compare::GE, index, number(b, index, endOf(getLow()))),
                              b.compare(Compare::LE, index, number(b, index, endOf(getHigh()))));
  results.push_back(b.select(b.logicalOr(isZero(b, v[2]), inside), v[0], number(b, v[0], 0)));
}

LogicalResult FakeQuantizeScaleGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getGrad().getType());
  return success();
}

void FakeQuantizeScaleGradOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v,
                                               SmallVectorImpl<Value> &results) {
  Value place = b.div(v[1], v[2]), index = b.add(b.roundEven(place), v[3]);
  Value low = number(b, index, endOf(getLow())), high = number(b, index, endOf(getHigh()));
  Value part = b.sub(b.roundEven(place), place);
  part = b.select(b.compare(Compare::LT, index, low), b.sub(low, v[3]), part);
  part = b.select(b.compare(Compare::GT, index, high), b.sub(high, v[3]), part);
  results.push_back(b.select(isZero(b, v[2]), number(b, v[0], 0), b.mul(v[0], part)));
}
