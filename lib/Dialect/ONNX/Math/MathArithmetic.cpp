// Bodies and gradients of arithmetic and casts.
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

using Compare = ClusterBodyBuilder::Compare;

/// Processors trap on x / 0 and on the lowest integer / -1, also in lanes that nobody reads: both are
/// taken out before the division.
static Value divide(ClusterBodyBuilder &body, Value a, Value b) {
  Type type = b.getType();
  if (isa<FloatType>(type))
    return body.div(a, b);
  Value zero = body.constantInt(type, 0), one = body.constantInt(type, 1);
  Value isZero = body.compare(Compare::EQ, b, zero);
  if (body.isUnsigned)
    return body.select(isZero, zero, body.div(a, body.select(isZero, one, b)));
  Value isMinusOne = body.compare(Compare::EQ, b, body.constantInt(type, -1));
  Value quotient = body.div(a, body.select(body.logicalOr(isZero, isMinusOne), one, b));
  return body.select(isZero, zero, body.select(isMinusOne, body.neg(a), quotient));
}

KEDGE_BINARY_BODY(AddOp, body.add(a, b))
KEDGE_BINARY_BODY(SubOp, body.sub(a, b))
KEDGE_BINARY_BODY(MulOp, body.mul(a, b))
KEDGE_BINARY_BODY(DivOp, divide(body, a, b))
KEDGE_UNARY_BODY(NegOp, body.neg(x))

LogicalResult CastOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get(shapeOf(adaptor.getX()), adaptor.getTo()));
  return success();
}

void CastOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars, SmallVectorImpl<Value> &results) {
  Type from = elementOf(getX()), to = bodyType(getTo());
  Value x = scalars[0];
  // Out of range conversions of floats to small integers wrap as in C on common machines: by way of i64.
  bool narrows =
      isa<FloatType>(from) && isa<IntegerType>(to) && !to.isInteger(1) && to.getIntOrFloatBitWidth() < 64;
  if (narrows)
    x = body.cast(x, body.builder.getI64Type());
  results.push_back(body.cast(x, to, isUnsigned(from), isUnsigned(getTo())));
}

LogicalResult CastOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    SmallVectorImpl<Value> &operandGrads) {
  GradientBuilder math{builder, getLoc()};
  bool passes = isFloatTensor(getX()) && isFloatTensor(getResult());
  operandGrads.push_back(passes ? math.cast(resultGrads[0], elementOf(getX())) : Value());
  return success();
}
