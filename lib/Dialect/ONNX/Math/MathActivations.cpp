// Bodies and gradients of the activations.
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"
#include "lib/Dialect/ONNX/ScalarMath.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

using Compare = ClusterBodyBuilder::Compare;
using F = train::PointwiseFunction;

static Value number(ClusterBodyBuilder &body, Value like, double value) {
  return body.constant(like.getType(), value);
}
static Value number(ClusterBodyBuilder &body, Value like, const APFloat &value) {
  return body.constant(like.getType(), value.convertToDouble());
}
static Value isPositive(ClusterBodyBuilder &body, Value x) {
  return body.compare(Compare::GT, x, number(body, x, 0.0));
}

static Value clampUnit(ClusterBodyBuilder &body, Value x) {
  return body.minimum(body.maximum(x, number(body, x, 0.0)), number(body, x, 1.0));
}

static Value softsign(ClusterBodyBuilder &body, Value x) {
  return body.div(x, body.add(number(body, x, 1.0), body.abs(x)));
}

static Value hardSwish(ClusterBodyBuilder &body, Value x) {
  Value gate = body.add(body.mul(x, number(body, x, 1.0 / 6)), number(body, x, 0.5));
  return body.mul(x, clampUnit(body, gate));
}

static Value elu(ClusterBodyBuilder &body, Value x, const APFloat &alpha) {
  return body.select(isPositive(body, x), x, body.mul(number(body, x, alpha), body.expm1(x)));
}

static Value celu(ClusterBodyBuilder &body, Value x, const APFloat &alpha) {
  Value scale = number(body, x, alpha), zero = number(body, x, 0.0);
  Value negative = body.mul(scale, body.expm1(body.div(x, scale)));
  return body.add(body.maximum(zero, x), body.minimum(zero, negative));
}

static Value hardSigmoid(ClusterBodyBuilder &body, Value x, const APFloat &alpha, const APFloat &beta) {
  return clampUnit(body, body.add(body.mul(number(body, x, alpha), x), number(body, x, beta)));
}

static Value shrink(ClusterBodyBuilder &body, Value x, const APFloat &lambd, const APFloat &bias) {
  Value limit = number(body, x, lambd), offset = number(body, x, bias);
  Value below = body.compare(Compare::LT, x, body.neg(limit)), above = body.compare(Compare::GT, x, limit);
  Value upper = body.select(above, body.sub(x, offset), number(body, x, 0.0));
  return body.select(below, body.add(x, offset), upper);
}

KEDGE_UNARY_BODY(ReluOp, body.maximum(x, number(body, x, 0.0)))
KEDGE_UNARY_BODY(SigmoidOp, body.sigmoid(x))
KEDGE_UNARY_BODY(TanhOp, body.tanh(x))
KEDGE_UNARY_BODY(SoftplusOp, softplus(body, x))
KEDGE_UNARY_BODY(SoftsignOp, softsign(body, x))
KEDGE_UNARY_BODY(HardSwishOp, hardSwish(body, x))
KEDGE_UNARY_BODY(MishOp, body.mul(x, body.tanh(softplus(body, x))))
KEDGE_UNARY_BODY(LeakyReluOp, body.select(isPositive(body, x), x, body.mul(number(body, x, getAlpha()), x)))
KEDGE_UNARY_BODY(EluOp, elu(body, x, getAlpha()))
KEDGE_UNARY_BODY(CeluOp, celu(body, x, getAlpha()))
KEDGE_UNARY_BODY(ThresholdedReluOp, body.select(body.compare(Compare::GT, x, number(body, x, getAlpha())), x,
                                                number(body, x, 0.0)))
KEDGE_UNARY_BODY(SeluOp, body.mul(number(body, x, getGamma()), elu(body, x, getAlpha())))
KEDGE_UNARY_BODY(HardSigmoidOp, hardSigmoid(body, x, getAlpha(), getBeta()))
KEDGE_UNARY_BODY(ShrinkOp, shrink(body, x, getLambd(), getBias()))

void PReluOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                               SmallVectorImpl<Value> &results) {
  body.isUnsigned = isUnsigned(elementOf(getX()));
  Value x = scalars[0];
  Value positive = body.compare(Compare::GT, x, body.constantInt(x.getType(), 0));
  results.push_back(body.select(positive, x, body.mul(scalars[1], x)));
}

LogicalResult PReluOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                     SmallVectorImpl<Value> &operandGrads) {
  GradientBuilder math{builder, getLoc()};
  Value grad = resultGrads[0];
  operandGrads.push_back(math.reduceTo(math.pointwise(F::PRelu, {grad, getX(), getSlope()}), getX()));
  operandGrads.push_back(math.reduceTo(math.pointwise(F::PReluSlope, {grad, getX()}), getSlope()));
  return success();
}
