// Gelu and Swish.
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

LogicalResult GeluOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getX().getType());
  return success();
}

void GeluOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars, SmallVectorImpl<Value> &results) {
  Value x = scalars[0];
  auto constant = [&](double value) { return body.constant(x.getType(), value); };
  Value inner;
  if (getApproximate() == Approximation::Tanh) {
    Value cube = body.mul(body.mul(x, x), x);
    Value argument = body.mul(constant(std::sqrt(2 / M_PI)), body.add(x, body.mul(constant(0.044715), cube)));
    inner = body.tanh(argument);
  } else {
    inner = body.erf(body.mul(x, constant(M_SQRT1_2)));
  }
  results.push_back(body.mul(body.mul(x, constant(0.5)), body.add(constant(1.0), inner)));
}

LogicalResult GeluOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    SmallVectorImpl<Value> &operandGrads) {
  operandGrads.push_back(
      train::GeluGradOp::create(builder, getLoc(), resultGrads[0], getX(), getApproximateAttr()));
  return success();
}

LogicalResult SwishOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getX().getType());
  return success();
}

void SwishOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                               SmallVectorImpl<Value> &results) {
  Value x = scalars[0], alpha = body.constant(x.getType(), getAlpha().convertToDouble());
  results.push_back(body.mul(x, body.sigmoid(body.mul(alpha, x))));
}

LogicalResult SwishOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                     SmallVectorImpl<Value> &operandGrads) {
  operandGrads.push_back(
      train::SwishGradOp::create(builder, getLoc(), resultGrads[0], getX(), getAlphaAttr()));
  return success();
}
