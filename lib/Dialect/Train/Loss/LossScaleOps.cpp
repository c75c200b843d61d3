#include "kedge/Dialect/Train/Loss/LossScaleOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "mlir/IR/Builders.h"
#include <limits>

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

#define GET_OP_CLASSES
#include "kedge/Dialect/Train/Loss/LossScaleOps.cpp.inc"

namespace {
using MaybeLocation = std::optional<Location>;
using Types = SmallVectorImpl<Type>;
using Body = ClusterBodyBuilder;

RankedTensorType withElement(Value like, Type element) { return tensorType(like).clone(element); }

Value isSkipped(Body &b, Value found) {
  return b.compare(Body::Compare::GT, found, b.constant(found.getType(), 0));
}
} // namespace

LogicalResult ScaleLossOp::inferReturnTypes(MLIRContext *, MaybeLocation, Adaptor adaptor, Types &types) {
  types.push_back(adaptor.getLoss().getType());
  return success();
}

bool ScaleLossOp::isDifferentiableOperand(unsigned operand) { return operand == 0; }

LogicalResult ScaleLossOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         SmallVectorImpl<Value> &operandGrads) {
  operandGrads.push_back(onnx::MulOp::create(builder, getLoc(), resultGrads[0], getScale()));
  operandGrads.push_back({});
  return success();
}

void ScaleLossOp::buildClusterBody(Body &, ValueRange v, SmallVectorImpl<Value> &results) {
  results.push_back(v[0]);
}

LogicalResult InverseScaleOp::inferReturnTypes(MLIRContext *, MaybeLocation, Adaptor adaptor, Types &types) {
  types.push_back(adaptor.getScale().getType());
  return success();
}

void InverseScaleOp::buildClusterBody(Body &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Type wide = b.builder.getF64Type();
  results.push_back(b.cast(b.div(b.constant(wide, 1), b.cast(v[0], wide)), v[0].getType()));
}

LogicalResult NotFiniteOp::inferReturnTypes(MLIRContext *context, MaybeLocation, Adaptor adaptor,
                                            Types &types) {
  types.push_back(withElement(adaptor.getX(), Float32Type::get(context)));
  return success();
}

void NotFiniteOp::buildClusterBody(Body &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Type type = v[0].getType(), single = b.builder.getF32Type();
  // x - x is 0 for finite numbers and NaN for all others.
  Value finite = b.compare(Body::Compare::EQ, b.sub(v[0], v[0]), b.constant(type, 0));
  results.push_back(b.select(finite, b.constant(single, 0), b.constant(single, 1)));
}

LogicalResult UpdateScaleOp::inferReturnTypes(MLIRContext *, MaybeLocation, Adaptor adaptor, Types &types) {
  types.append({adaptor.getScale().getType(), adaptor.getCounter().getType(), adaptor.getLeft().getType()});
  return success();
}

void UpdateScaleOp::buildClusterBody(Body &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value scale = v[0], counter = v[1], left = v[2], skipped = isSkipped(b, v[3]);
  auto number = [&](double value) { return b.constant(scale.getType(), value); };
  auto integer = [&](int64_t value) { return b.constantInt(counter.getType(), value); };
  Value spent = b.compare(Body::Compare::LE, left, integer(1));
  Value shrunk =
      b.maximum(b.mul(scale, number(getBackoff().convertToDouble())), number(getMinimum().convertToDouble()));
  Value after = b.select(spent, shrunk, scale);
  Value next = b.add(counter, integer(1));
  Value due = b.compare(Body::Compare::GE, next, integer(getWindow()));
  Value larger = b.mul(scale, number(getGrowth().convertToDouble()));
  Value fits = b.compare(Body::Compare::LT, larger, number(std::numeric_limits<double>::infinity()));
  Value grown = b.select(b.logicalAnd(due, fits), larger, scale);
  results.push_back(b.select(skipped, after, grown));
  results.push_back(b.select(skipped, integer(0), b.select(due, integer(0), next)));
  Value less = b.select(spent, left, b.sub(left, integer(1)));
  results.push_back(b.select(skipped, less, b.select(due, integer(getHysteresis()), left)));
}

LogicalResult CountStepOp::inferReturnTypes(MLIRContext *, MaybeLocation, Adaptor adaptor, Types &types) {
  types.push_back(adaptor.getSteps().getType());
  return success();
}

void CountStepOp::buildClusterBody(Body &b, ValueRange v, SmallVectorImpl<Value> &results) {
  results.push_back(b.select(isSkipped(b, v[1]), v[0], b.add(v[0], b.constantInt(v[0].getType(), 1))));
}

LogicalResult AdamCorrectionsOp::inferReturnTypes(MLIRContext *context, MaybeLocation, Adaptor adaptor,
                                                  Types &types) {
  types.append(2, withElement(adaptor.getSteps(), Float32Type::get(context)));
  return success();
}

void AdamCorrectionsOp::buildClusterBody(Body &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Type wide = b.builder.getF64Type(), single = b.builder.getF32Type();
  Value t = b.cast(b.add(v[0], b.constantInt(v[0].getType(), 1)), wide), one = b.constant(wide, 1);
  results.push_back(b.cast(b.div(v[1], b.sub(one, b.pow(v[2], t))), single));
  results.push_back(b.cast(b.sqrt(b.sub(one, b.pow(v[3], t))), single));
}
