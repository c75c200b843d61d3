// Gradients of Gelu and Swish; SwiGLU.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
LogicalResult sameShapes(std::optional<Location> loc, ValueRange operands) {
  for (Value operand : operands)
    if (operand.getType() != operands[0].getType())
      return emitOptionalError(loc, "operands of ", operands[0].getType(), " and ", operand.getType(),
                               " must have one type");
  return success();
}

/// Derivative of z s at s = sigmoid(z): s (1 + z (1 - s)).
Value siluDerivative(ClusterBodyBuilder &body, Value z, Value s) {
  Value one = body.constant(z.getType(), 1.0);
  return body.mul(s, body.add(one, body.mul(z, body.sub(one, s))));
}

/// Phi(x) + x phi(x).
Value geluErfDerivative(ClusterBodyBuilder &body, Value x) {
  auto constant = [&](double value) { return body.constant(x.getType(), value); };
  Value cdf = body.mul(constant(0.5), body.add(constant(1.0), body.erf(body.mul(x, constant(M_SQRT1_2)))));
  Value density =
      body.mul(constant(1 / std::sqrt(2 * M_PI)), body.exp(body.mul(constant(-0.5), body.mul(x, x))));
  return body.add(cdf, body.mul(x, density));
}

/// With t = tanh(u), u = sqrt(2/pi) (x + 0.044715 x^3): (1 + t)/2 + x (1 - t^2) u'/2.
Value geluTanhDerivative(ClusterBodyBuilder &body, Value x) {
  auto constant = [&](double value) { return body.constant(x.getType(), value); };
  double beta = std::sqrt(2 / M_PI);
  Value square = body.mul(x, x), one = constant(1.0), half = constant(0.5);
  Value u = body.mul(constant(beta), body.add(x, body.mul(constant(0.044715), body.mul(square, x))));
  Value t = body.tanh(u);
  Value slope = body.mul(constant(beta), body.add(one, body.mul(constant(3 * 0.044715), square)));
  Value rise = body.mul(body.mul(x, body.sub(one, body.mul(t, t))), slope);
  return body.mul(half, body.add(body.add(one, t), rise));
}
} // namespace

LogicalResult GeluGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getX().getType());
  return sameShapes(loc, adaptor.getOperands());
}
void GeluGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                  SmallVectorImpl<Value> &results) {
  Value slope = getApproximate() == onnx::Approximation::Tanh ? geluTanhDerivative(body, scalars[1])
                                                              : geluErfDerivative(body, scalars[1]);
  results.push_back(body.mul(scalars[0], slope));
}

LogicalResult GeluGradSumsOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  Type type = adaptor.getX().getType();
  if (adaptor.getDY().getType() != type || rankOf(adaptor.getX()) < 2)
    return failure();
  types.append({type, tensorType(adaptor.getX()).clone(shapeOf(adaptor.getX()).take_back())});
  return success();
}

void GeluGradSumsOp::describeCluster(ClusterSpec &spec) {
  const unsigned rank = rankOf(getX());
  AffineMap all = AffineMap::getMultiDimIdentityMap(rank, getContext());
  spec.domain = llvm::to_vector(shapeOf(getX()));
  spec.reduced.assign(rank, true);
  spec.reduced.back() = false;
  spec.inputMaps = {all, all};
  spec.outputMaps = {all, all.getMinorSubMap(1)};
}

void GeluGradSumsOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value gradient = b.mul(v[0], geluTanhDerivative(b, v[1]));
  Value stored = b.cast(b.cast(gradient, elementOf(getX())), gradient.getType());
  results.append({gradient, b.sum(stored)});
}

LogicalResult SwishGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getX().getType());
  return sameShapes(loc, adaptor.getOperands());
}
void SwishGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                   SmallVectorImpl<Value> &results) {
  Value x = scalars[1], z = body.mul(body.constant(x.getType(), getAlpha().convertToDouble()), x);
  results.push_back(body.mul(scalars[0], siluDerivative(body, z, body.sigmoid(z))));
}

LogicalResult SwigluOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getGate().getType());
  return sameShapes(loc, adaptor.getOperands());
}
void SwigluOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                SmallVectorImpl<Value> &results) {
  Value gate = scalars[0];
  results.push_back(body.mul(body.mul(gate, body.sigmoid(gate)), scalars[1]));
}
LogicalResult SwigluOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      SmallVectorImpl<Value> &operandGrads) {
  auto grad = SwigluGradOp::create(builder, getLoc(), resultGrads[0], getGate(), getUp());
  operandGrads.append({grad.getDGate(), grad.getDUp()});
  return success();
}

LogicalResult SwigluGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  types.append({adaptor.getGate().getType(), adaptor.getUp().getType()});
  return sameShapes(loc, adaptor.getOperands());
}
void SwigluGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                    SmallVectorImpl<Value> &results) {
  Value dY = scalars[0], gate = scalars[1], up = scalars[2], s = body.sigmoid(gate);
  results.push_back(body.mul(body.mul(dY, up), siluDerivative(body, gate, s)));
  results.push_back(body.mul(dY, body.mul(gate, s)));
}
