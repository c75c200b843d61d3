#include "passes/Lower/Cluster/ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

unsigned kedge::lower::widthOf(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? vector.getNumElements() : 1;
}
Type kedge::lower::lanesOf(Type scalar, unsigned width) {
  return width == 1 ? scalar : VectorType::get({(int64_t)width}, scalar);
}

static bool isFloat8(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8; }

Type ScalarOps::registerType(Type scalar, unsigned width) const {
  const unsigned bits = scalar.isBF16() ? 16 : isFloat8(scalar) ? 8 : 0;
  return lanesOf(bits ? builder.getIntegerType(bits) : scalar, width);
}

Value ScalarOps::splat(Value value, unsigned width) {
  if (width == 1 || widthOf(value) != 1)
    return value;
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return this->constant(cast<TypedAttr>(constant.getValue()), width);
  return vector::BroadcastOp::create(builder, loc, lanesOf(value.getType(), width), value);
}

Value ScalarOps::constant(TypedAttr value, unsigned width) {
  if (auto number = dyn_cast<FloatAttr>(value);
      number && (number.getType().isBF16() || isFloat8(number.getType())))
    return intConstant(number.getType().getIntOrFloatBitWidth(),
                       number.getValue().bitcastToAPInt().getSExtValue(), width);
  if (width == 1)
    return arith::ConstantOp::create(builder, loc, value);
  auto type = cast<VectorType>(lanesOf(value.getType(), width));
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, cast<Attribute>(value)));
}
Value ScalarOps::intConstant(unsigned bits, int64_t value, unsigned width) {
  Type type = builder.getIntegerType(bits);
  return constant(builder.getIntegerAttr(type, APInt(bits, value, true, true)), width);
}

Value ScalarOps::clone(Operation *op, ValueRange operands, Type resultScalar) {
  OperationState state(loc, op->getName());
  state.addOperands(operands);
  state.addTypes(lanesOf(resultScalar, operands.empty() ? 1 : widthOf(operands.back())));
  state.addAttributes(op->getAttrs());
  return builder.create(state)->getResult(0);
}

bool ScalarOps::isDevices(Type type) const {
  return conversions == Conversions::Device && (type.isBF16() || isFloat8(type));
}

Value ScalarOps::widen(Value value, Type from) {
  unsigned width = widthOf(value);
  Type single = lanesOf(builder.getF32Type(), width);
  if (isDevices(from)) {
    Value number = arith::BitcastOp::create(builder, loc, lanesOf(from, width), value);
    return arith::ExtFOp::create(builder, loc, single, number);
  }
  if (isFloat8(from))
    return widenFloat8(value, cast<FloatType>(from));
  if (!from.isBF16())
    return arith::ExtFOp::create(builder, loc, single, value);
  Value bits = arith::ExtUIOp::create(builder, loc, lanesOf(builder.getI32Type(), width), value);
  bits = arith::ShLIOp::create(builder, loc, bits, intConstant(32, 16, width));
  return arith::BitcastOp::create(builder, loc, single, bits);
}

// As roundToFloat8 backwards: subnormal numbers are whole multiples of the smallest, and the codes that are
// no finite numbers have all bits of a float's exponent.
Value ScalarOps::widenFloat8(Value value, FloatType from) {
  const llvm::fltSemantics &format = from.getFloatSemantics();
  const int digits = static_cast<int>(APFloat::semanticsPrecision(format)) - 1;
  const int least = APFloat::semanticsMinExponent(format), up = 23 - digits;
  const unsigned width = widthOf(value);
  Type word = lanesOf(builder.getI32Type(), width), single = lanesOf(builder.getF32Type(), width);
  auto number = [&](int64_t v) { return intConstant(32, v, width); };
  Value code = arith::ExtUIOp::create(builder, loc, word, value);
  Value magnitude = arith::AndIOp::create(builder, loc, code, number(0x7f));
  Value shifted = arith::ShLIOp::create(builder, loc, magnitude, number(up));
  Value normal =
      arith::AddIOp::create(builder, loc, shifted, number(static_cast<int64_t>(127 - 1 + least) << 23));
  Value smallest = constant(builder.getF32FloatAttr(std::ldexp(1.0f, least - digits)), width);
  Value subnormal =
      arith::MulFOp::create(builder, loc, arith::UIToFPOp::create(builder, loc, single, magnitude), smallest);
  using P = arith::CmpIPredicate;
  const int64_t largest = APFloat::getLargest(format).bitcastToAPInt().getZExtValue();
  Value isSmall = arith::CmpIOp::create(builder, loc, P::ult, magnitude, number(int64_t(1) << digits));
  Value isOther = arith::CmpIOp::create(builder, loc, P::ugt, magnitude, number(largest));
  Value other = arith::OrIOp::create(builder, loc, shifted, number(0x7f800000));
  Value bits = arith::SelectOp::create(builder, loc, isSmall,
                                       arith::BitcastOp::create(builder, loc, word, subnormal), normal);
  bits = arith::SelectOp::create(builder, loc, isOther, other, bits);
  Value sign = arith::ShLIOp::create(builder, loc, arith::AndIOp::create(builder, loc, code, number(0x80)),
                                     number(24));
  return arith::BitcastOp::create(builder, loc, single, arith::OrIOp::create(builder, loc, bits, sign));
}

Value ScalarOps::roundToBFloat(Value value) {
  unsigned width = widthOf(value);
  auto number = [&](int64_t v) { return intConstant(32, v, width); };
  Value bits = arith::BitcastOp::create(builder, loc, lanesOf(builder.getI32Type(), width), value);
  Value upper = arith::ShRUIOp::create(builder, loc, bits, number(16));
  Value odd = arith::AndIOp::create(builder, loc, upper, number(1));
  Value rounding = arith::AddIOp::create(builder, loc, odd, number(0x7fff));
  Value rounded = arith::AddIOp::create(builder, loc, bits, rounding);
  rounded = arith::ShRUIOp::create(builder, loc, rounded, number(16));
  // The payload of a NaN may lie in the lower half: keep it a NaN, a quiet one.
  Value quiet = arith::OrIOp::create(builder, loc, upper, number(0x40));
  Value nan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value, value);
  Value result = arith::SelectOp::create(builder, loc, nan, quiet, rounded);
  return arith::TruncIOp::create(builder, loc, lanesOf(builder.getIntegerType(16), width), result);
}

// The bits of a float have the exponent first, so a float of fewer bits is its upper ones less the difference
// of the exponents' biases, and a rounding that carries enters the exponent. Below the smallest normal number
// the sum with a number whose last place is that of subnormal ones rounds instead.
Value ScalarOps::roundToFloat8(Value value, FloatType to) {
  const llvm::fltSemantics &format = to.getFloatSemantics();
  const int digits = static_cast<int>(APFloat::semanticsPrecision(format)) - 1; // behind the point
  const int least = APFloat::semanticsMinExponent(format), cut = 23 - digits, mask = (1 << cut) / 2 - 1;
  const unsigned width = widthOf(value);
  Type word = lanesOf(builder.getI32Type(), width), single = lanesOf(builder.getF32Type(), width);
  auto number = [&](int64_t v) { return intConstant(32, v, width); };
  auto shifted = [&](Value v, int by) -> Value {
    return arith::ShRUIOp::create(builder, loc, v, number(by));
  };
  Value bits = arith::BitcastOp::create(builder, loc, word, value);
  Value magnitude = arith::AndIOp::create(builder, loc, bits, number(0x7fffffff));

  Value odd = arith::AndIOp::create(builder, loc, shifted(magnitude, cut), number(1));
  Value rounded =
      arith::AddIOp::create(builder, loc, arith::AddIOp::create(builder, loc, magnitude, odd), number(mask));
  Value normal =
      arith::SubIOp::create(builder, loc, shifted(rounded, cut), number((127 - 1 + least) << digits));

  const int64_t magic = static_cast<int64_t>(127 + least - digits + 23) << 23;
  Value sum = arith::AddFOp::create(builder, loc, arith::BitcastOp::create(builder, loc, single, magnitude),
                                    arith::BitcastOp::create(builder, loc, single, number(magic)));
  Value subnormal =
      arith::SubIOp::create(builder, loc, arith::BitcastOp::create(builder, loc, word, sum), number(magic));

  using P = arith::CmpIPredicate;
  Value isSmall =
      arith::CmpIOp::create(builder, loc, P::ult, magnitude, number(static_cast<int64_t>(127 + least) << 23));
  Value isNaN = arith::CmpIOp::create(builder, loc, P::ugt, magnitude, number(0x7f800000));
  Value result = arith::SelectOp::create(builder, loc, isSmall, subnormal, normal);
  result = arith::SelectOp::create(builder, loc, isNaN, number(0x7f), result);
  Value sign = arith::AndIOp::create(builder, loc, shifted(bits, 24), number(0x80));
  result = arith::OrIOp::create(builder, loc, result, sign);
  return arith::TruncIOp::create(builder, loc, lanesOf(builder.getIntegerType(8), width), result);
}

Value ScalarOps::narrow(Value value, Type to) {
  if (isDevices(to)) {
    const unsigned width = widthOf(value);
    Value number = arith::TruncFOp::create(builder, loc, lanesOf(to, width), value);
    return arith::BitcastOp::create(builder, loc, registerType(to, width), number);
  }
  if (isFloat8(to))
    return roundToFloat8(value, cast<FloatType>(to));
  if (to.isBF16())
    return roundToBFloat(value);
  return arith::TruncFOp::create(builder, loc, lanesOf(to, widthOf(value)), value);
}

// A quotient that no test reads must not trap: divisors 0 and -1 are taken out.
Value ScalarOps::divide(Operation *op, Value a, Value b) {
  unsigned width = widthOf(a);
  unsigned bits = getElementTypeOrSelf(a.getType()).getIntOrFloatBitWidth();
  auto is = [&](int64_t v) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, b, intConstant(bits, v, width));
  };
  Value one = intConstant(bits, 1, width), unsafe = is(0), minusOne;
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op);
  if (isSigned) {
    minusOne = is(-1);
    unsafe = arith::OrIOp::create(builder, loc, unsafe, minusOne);
  }
  Value divisor = arith::SelectOp::create(builder, loc, unsafe, one, b);
  Value result = clone(op, {a, divisor}, getElementTypeOrSelf(a.getType()));
  if (!isSigned || isa<arith::RemSIOp>(op))
    // x rem 1 is 0, as x rem -1 is; x rem 0 has no meaning.
    return result;
  Value negated = arith::SubIOp::create(builder, loc, intConstant(bits, 0, width), a);
  return arith::SelectOp::create(builder, loc, minusOne, negated, result);
}

Value ScalarOps::emit(Operation *op, ValueRange operands, unsigned width) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return this->constant(cast<TypedAttr>(constant.getValue()), width);
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return divide(op, operands[0], operands[1]);
  Type result = op->getResult(0).getType();
  if (isa<arith::SelectOp>(op))
    return arith::SelectOp::create(builder, loc, operands[0], operands[1], operands[2]);
  if (isa<arith::BitcastOp>(op))
    return arith::BitcastOp::create(builder, loc, registerType(result, width), operands[0]);

  auto isShort = [](Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32; };
  SmallVector<Value> wide(operands);
  for (auto [value, original] : llvm::zip(wide, op->getOperands()))
    if (isShort(original.getType()))
      value = widen(value, original.getType());
  Type single = builder.getF32Type();
  Type computed = isShort(result) ? single : result;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    Value value = wide[0];
    Type type = lanesOf(computed, width);
    if (value.getType() == type)
      wide[0] = value;
    else if (computed.isF64())
      wide[0] = arith::ExtFOp::create(builder, loc, type, value);
    else
      wide[0] = arith::TruncFOp::create(builder, loc, type, value);
    return isShort(result) ? narrow(wide[0], result) : wide[0];
  }
  Value value = clone(op, wide, computed);
  return isShort(result) ? narrow(value, result) : value;
}

Value ScalarOps::combine(sched::ReductionKind kind, Value a, Value b) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(a.getType()));
  switch (kind) {
  case sched::ReductionKind::Add:
    return isFloat ? Value(arith::AddFOp::create(builder, loc, a, b))
                   : Value(arith::AddIOp::create(builder, loc, a, b));
  case sched::ReductionKind::Mul:
    return isFloat ? Value(arith::MulFOp::create(builder, loc, a, b))
                   : Value(arith::MulIOp::create(builder, loc, a, b));
  case sched::ReductionKind::Max:
    return isFloat ? Value(arith::MaximumFOp::create(builder, loc, a, b))
                   : Value(arith::MaxSIOp::create(builder, loc, a, b));
  case sched::ReductionKind::Min:
    return isFloat ? Value(arith::MinimumFOp::create(builder, loc, a, b))
                   : Value(arith::MinSIOp::create(builder, loc, a, b));
  case sched::ReductionKind::UMax:
    return arith::MaxUIOp::create(builder, loc, a, b);
  case sched::ReductionKind::UMin:
    return arith::MinUIOp::create(builder, loc, a, b);
  case sched::ReductionKind::And:
    return arith::AndIOp::create(builder, loc, a, b);
  case sched::ReductionKind::Or:
    return arith::OrIOp::create(builder, loc, a, b);
  }
  llvm_unreachable("reduction kind");
}

Value ScalarOps::identity(sched::ReductionKind kind, Type scalar, unsigned width) {
  bool isMax = kind == sched::ReductionKind::Max, isMin = kind == sched::ReductionKind::Min;
  if (auto type = dyn_cast<FloatType>(scalar)) {
    APFloat value = isMax || isMin
                        ? APFloat::getInf(type.getFloatSemantics(), isMax)
                        : APFloat(type.getFloatSemantics(), kind == sched::ReductionKind::Mul ? 1 : 0);
    return constant(builder.getFloatAttr(type, value), width);
  }
  unsigned bits = scalar.getIntOrFloatBitWidth();
  APInt value(bits, 0);
  if (isMax)
    value = APInt::getSignedMinValue(bits);
  else if (isMin)
    value = APInt::getSignedMaxValue(bits);
  else if (kind == sched::ReductionKind::UMin || kind == sched::ReductionKind::And)
    value = APInt::getAllOnes(bits);
  else if (kind == sched::ReductionKind::Mul)
    value = APInt(bits, 1);
  return constant(builder.getIntegerAttr(scalar, value), width);
}
