// Bodies of comparisons, logic and bits; Where.
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

using Compare = ClusterBodyBuilder::Compare;

template <typename Op> static Value bits(ClusterBodyBuilder &body, Value a, Value b) {
  return Op::create(body.builder, body.loc, a, b);
}

static Value allOnes(ClusterBodyBuilder &body, Type type) { return body.constantInt(type, -1); }

KEDGE_BINARY_BODY(EqualOp, body.compare(Compare::EQ, a, b))
KEDGE_BINARY_BODY(LessOp, body.compare(Compare::LT, a, b))
KEDGE_BINARY_BODY(GreaterOp, body.compare(Compare::GT, a, b))
KEDGE_BINARY_BODY(LessOrEqualOp, body.compare(Compare::LE, a, b))
KEDGE_BINARY_BODY(GreaterOrEqualOp, body.compare(Compare::GE, a, b))
KEDGE_UNARY_BODY(IsNaNOp, body.compare(Compare::NE, x, x))
KEDGE_BINARY_BODY(AndOp, body.logicalAnd(a, b))
KEDGE_BINARY_BODY(OrOp, body.logicalOr(a, b))
KEDGE_BINARY_BODY(XorOp, bits<arith::XOrIOp>(body, a, b))
KEDGE_UNARY_BODY(NotOp, body.logicalNot(x))
KEDGE_BINARY_BODY(BitwiseAndOp, bits<arith::AndIOp>(body, a, b))
KEDGE_BINARY_BODY(BitwiseOrOp, bits<arith::OrIOp>(body, a, b))
KEDGE_BINARY_BODY(BitwiseXorOp, bits<arith::XOrIOp>(body, a, b))
KEDGE_UNARY_BODY(BitwiseNotOp, bits<arith::XOrIOp>(body, x, allOnes(body, x.getType())))

void IsInfOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                               SmallVectorImpl<Value> &results) {
  Value x = scalars[0];
  const double infinity = std::numeric_limits<double>::infinity();
  auto is = [&](double value) { return body.compare(Compare::EQ, x, body.constant(x.getType(), value)); };
  Value positive = getDetectPositive() ? is(infinity) : Value();
  Value negative = getDetectNegative() ? is(-infinity) : Value();
  if (positive && negative)
    results.push_back(body.logicalOr(positive, negative));
  else if (positive || negative)
    results.push_back(positive ? positive : negative);
  else
    results.push_back(body.constantInt(body.builder.getI1Type(), 0));
}

/// By the width or more (or less than 0 of signed integers), all bits are what moves in: copies of the sign
/// to the right, else zeros.
void BitShiftOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                  SmallVectorImpl<Value> &results) {
  bool arithmetic = !isUnsigned(elementOf(getA())) && !getLeft();
  body.isUnsigned = true;
  Value a = scalars[0], b = scalars[1];
  Type type = a.getType();
  int64_t width = type.getIntOrFloatBitWidth();
  Value zero = body.constantInt(type, 0);
  Value fits = body.compare(Compare::LT, b, body.constantInt(type, width));
  if (arithmetic) {
    Value by = body.select(fits, b, body.constantInt(type, width - 1));
    results.push_back(bits<arith::ShRSIOp>(body, a, by));
    return;
  }
  Value by = body.select(fits, b, zero);
  Value shifted = getLeft() ? bits<arith::ShLIOp>(body, a, by) : bits<arith::ShRUIOp>(body, a, by);
  results.push_back(body.select(fits, shifted, zero));
}

LogicalResult WhereOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  if (!elementOf(adaptor.getCondition()).isInteger(1))
    return emitOptionalError(location, "condition has element type ", elementOf(adaptor.getCondition()),
                             ", expected i1");
  SmallVector<Type> chosen;
  if (failed(inferElementwise(location, {adaptor.getA(), adaptor.getB()}, chosen)))
    return failure();
  return inferBroadcast(location, adaptor.getOperands(), types,
                        cast<RankedTensorType>(chosen[0]).getElementType());
}

void WhereOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                               SmallVectorImpl<Value> &results) {
  results.push_back(body.select(scalars[0], scalars[1], scalars[2]));
}

LogicalResult WhereOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                     SmallVectorImpl<Value> &operandGrads) {
  GradientBuilder math{builder, getLoc()};
  Value grad = resultGrads[0];
  Value zero = scalarLike(builder, getLoc(), grad, 0);
  operandGrads.push_back({});
  operandGrads.push_back(
      math.reduceTo(WhereOp::create(builder, getLoc(), getCondition(), grad, zero), getA()));
  operandGrads.push_back(
      math.reduceTo(WhereOp::create(builder, getLoc(), getCondition(), zero, grad), getB()));
  return success();
}

bool WhereOp::isDifferentiableOperand(unsigned index) { return index != 0; }
