// Bodies and gradients of Max, Min, Clip, Pow, Mod.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"
#include "lib/Dialect/ONNX/ScalarMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

using F = train::PointwiseFunction;

using Compare = ClusterBodyBuilder::Compare;

KEDGE_BINARY_BODY(MaxOp, body.maximum(a, b))
KEDGE_BINARY_BODY(MinOp, body.minimum(a, b))

void ClipOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars, SmallVectorImpl<Value> &results) {
  body.isUnsigned = isUnsigned(elementOf(getX()));
  Value x = scalars[0];
  size_t next = 1;
  if (getLow())
    x = body.maximum(x, scalars[next++]);
  if (getHigh())
    x = body.minimum(x, scalars[next]);
  results.push_back(x);
}

LogicalResult ClipOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    SmallVectorImpl<Value> &operandGrads) {
  GradientBuilder math{builder, getLoc()};
  Value grad = resultGrads[0];
  SmallVector<Value> ofBounds;
  for (auto [bound, rule] : {std::pair{getLow(), F::ClipLow}, std::pair{getHigh(), F::ClipHigh}}) {
    if (!bound)
      continue;
    Value within = math.pointwise(rule, {grad, getX(), bound});
    // A learned bound gets what does not pass.
    const bool isLearned = !bound.getDefiningOp<ConstantOp>();
    ofBounds.push_back(isLearned ? reduceTo(builder, getLoc(), math.sub(grad, within), bound) : Value());
    grad = within;
  }
  operandGrads.push_back(grad);
  llvm::append_range(operandGrads, ofBounds);
  return success();
}

bool ClipOp::isDifferentiableOperand(unsigned) { return true; }

LogicalResult PowOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  return inferBroadcast(location, adaptor.getOperands(), types);
}

/// The number that every element of `v` is, when it is a constant.
static std::optional<double> splatOf(Value v) {
  auto constant = v.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  auto value = elements.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  return static_cast<double>(cast<IntegerAttr>(value).getValue().getSExtValue());
}

/// base^exponent modulo 2^width by squaring, over all bits of the exponent.
static Value integerPower(ClusterBodyBuilder &body, Value base, Value exponent, bool exponentSigned) {
  Type type = base.getType(), exponentType = exponent.getType();
  auto shiftRight = [&](unsigned bit) -> Value {
    return arith::ShRUIOp::create(body.builder, body.loc, exponent, body.constantInt(exponentType, bit));
  };
  Value one = body.constantInt(type, 1), zero = body.constantInt(type, 0);
  Value result = one, square = base;
  unsigned bits = exponentType.getIntOrFloatBitWidth() - (exponentSigned ? 1 : 0);
  for (unsigned bit = 0; bit < bits; ++bit) {
    Value odd = body.logicalAnd(shiftRight(bit), body.constantInt(exponentType, 1));
    Value isSet = body.compare(Compare::NE, odd, body.constantInt(exponentType, 0));
    result = body.select(isSet, body.mul(result, square), result);
    if (bit + 1 < bits)
      square = body.mul(square, square);
  }
  if (!exponentSigned)
    return result;
  // 1 / base^n truncated: only 1 and -1 have a whole reciprocal, and it is the same power.
  Value unit = body.compare(Compare::EQ, base, one);
  if (!body.isUnsigned)
    unit = body.logicalOr(unit, body.compare(Compare::EQ, base, body.constantInt(type, -1)));
  Value negative = arith::CmpIOp::create(body.builder, body.loc, arith::CmpIPredicate::slt, exponent,
                                         body.constantInt(exponentType, 0));
  return body.select(negative, body.select(unit, result, zero), result);
}

void PowOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars, SmallVectorImpl<Value> &results) {
  Value a = scalars[0], b = scalars[1];
  Type type = a.getType();
  bool unsignedA = isUnsigned(elementOf(getA())), unsignedB = isUnsigned(elementOf(getB()));
  body.isUnsigned = unsignedA;
  if (isa<FloatType>(type)) {
    std::optional<double> exponent = splatOf(getB());
    results.push_back(exponent ? powerByConstant(body, a, *exponent)
                               : body.pow(a, body.cast(b, type, unsignedB)));
  } else if (isa<FloatType>(b.getType())) {
    Type wide = body.builder.getF64Type();
    Value power = body.pow(body.cast(a, wide, unsignedA), body.cast(b, wide));
    results.push_back(body.cast(power, type, false, unsignedA));
  } else {
    results.push_back(integerPower(body, a, b, !unsignedB));
  }
}

LogicalResult PowOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   SmallVectorImpl<Value> &operandGrads) {
  GradientBuilder math{builder, getLoc()};
  Value grad = resultGrads[0], exponent = getB();
  if (std::optional<double> constant = splatOf(exponent)) {
    auto parameters =
        builder.getDictionaryAttr(builder.getNamedAttr("exponent", builder.getF64FloatAttr(*constant)));
    operandGrads.push_back(math.reduceTo(math.pointwise(F::PowConstant, {grad, getA()}, parameters), getA()));
    operandGrads.push_back({});
    return success();
  }
  bool exponentTrains = isFloatTensor(exponent);
  if (!exponentTrains)
    exponent = math.cast(exponent, elementOf(getA()));
  operandGrads.push_back(math.reduceTo(math.pointwise(F::PowBase, {grad, getA(), exponent}), getA()));
  operandGrads.push_back(
      exponentTrains
          ? math.reduceTo(math.pointwise(F::PowExponent, {grad, getA(), exponent, getResult()}), getB())
          : Value());
  return success();
}

/// a - n b, of which n, a whole number, has no gradient.
LogicalResult ModOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   SmallVectorImpl<Value> &operandGrads) {
  GradientBuilder math{builder, getLoc()};
  if (!isFloatTensor(getA())) {
    operandGrads.append({Value(), Value()});
    return success();
  }
  Value quotient = math.div(getA(), getB()), whole = quotient;
  if (getFmod())
    whole = AbsOp::create(builder, getLoc(), whole);
  whole = FloorOp::create(builder, getLoc(), whole);
  if (getFmod())
    whole = math.mul(whole, SignOp::create(builder, getLoc(), quotient));
  operandGrads.push_back(math.reduceTo(resultGrads[0], getA()));
  operandGrads.push_back(math.reduceTo(math.neg(math.mul(resultGrads[0], whole)), getB()));
  return success();
}

/// Division traps are avoided as in onnx.Div.
static Value remainder(ClusterBodyBuilder &body, Value a, Value b) {
  Type type = b.getType();
  if (isa<FloatType>(type))
    return body.rem(a, b);
  Value zero = body.constantInt(type, 0), one = body.constantInt(type, 1);
  Value trivial = body.compare(Compare::EQ, b, zero);
  if (!body.isUnsigned)
    trivial = body.logicalOr(trivial, body.compare(Compare::EQ, b, body.constantInt(type, -1)));
  return body.rem(a, body.select(trivial, one, b));
}

void ModOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars, SmallVectorImpl<Value> &results) {
  body.isUnsigned = isUnsigned(elementOf(getA()));
  Value b = scalars[1], r = remainder(body, scalars[0], b);
  if (getFmod() || body.isUnsigned) {
    results.push_back(r);
    return;
  }
  Value zero = body.constantInt(r.getType(), 0);
  Value differ =
      body.compare(Compare::NE, body.compare(Compare::LT, r, zero), body.compare(Compare::LT, b, zero));
  Value moves = body.logicalAnd(body.compare(Compare::NE, r, zero), differ);
  results.push_back(body.select(moves, body.add(r, b), r));
}
