#include "kedge/Interfaces/ClusterBody.h"
#include "kedge/Dialect/Sched/SchedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace kedge;

Type kedge::bodyType(Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(element.getContext());
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

namespace {
bool isFloat(Value v) { return isa<FloatType>(v.getType()); }
template <typename Op> Value make(ClusterBodyBuilder &b, Value x) { return Op::create(b.builder, b.loc, x); }
template <typename Op> Value make(ClusterBodyBuilder &b, Value x, Value y) {
  return Op::create(b.builder, b.loc, x, y);
}
template <typename FloatOp, typename SignedOp, typename UnsignedOp>
Value pick(ClusterBodyBuilder &b, Value x, Value y) {
  if (isFloat(x))
    return make<FloatOp>(b, x, y);
  return b.isUnsigned ? make<UnsignedOp>(b, x, y) : make<SignedOp>(b, x, y);
}
} // namespace

Value ClusterBodyBuilder::constant(Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value));
  return constantInt(type, static_cast<int64_t>(value));
}
Value ClusterBodyBuilder::constantInt(Type type, int64_t value) {
  if (isa<FloatType>(type))
    return constant(type, static_cast<double>(value));
  return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
}
Value ClusterBodyBuilder::index(unsigned dim) { return sched::IndexOp::create(builder, loc, dim); }

Value ClusterBodyBuilder::reduce(ClusterReduction kind, Value x) {
  using sched::ReductionKind;
  ReductionKind reduction = ReductionKind::Add;
  switch (kind) {
  case ClusterReduction::Add:
    reduction = ReductionKind::Add;
    break;
  case ClusterReduction::Mul:
    reduction = ReductionKind::Mul;
    break;
  case ClusterReduction::Max:
    reduction = isUnsigned && !isFloat(x) ? ReductionKind::UMax : ReductionKind::Max;
    break;
  case ClusterReduction::Min:
    reduction = isUnsigned && !isFloat(x) ? ReductionKind::UMin : ReductionKind::Min;
    break;
  case ClusterReduction::And:
    reduction = ReductionKind::And;
    break;
  case ClusterReduction::Or:
    reduction = ReductionKind::Or;
    break;
  }
  return sched::ReduceOp::create(builder, loc, x.getType(), reduction, x);
}

Value ClusterBodyBuilder::random(Value seed, int64_t opId, Value step, Value row, Value element) {
  return sched::RandomOp::create(builder, loc, builder.getF32Type(), seed, step, row, element,
                                 builder.getI64IntegerAttr(opId));
}

Value ClusterBodyBuilder::add(Value a, Value b) {
  return pick<arith::AddFOp, arith::AddIOp, arith::AddIOp>(*this, a, b);
}
Value ClusterBodyBuilder::sub(Value a, Value b) {
  return pick<arith::SubFOp, arith::SubIOp, arith::SubIOp>(*this, a, b);
}
Value ClusterBodyBuilder::mul(Value a, Value b) {
  return pick<arith::MulFOp, arith::MulIOp, arith::MulIOp>(*this, a, b);
}
Value ClusterBodyBuilder::div(Value a, Value b) {
  return pick<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(*this, a, b);
}
Value ClusterBodyBuilder::rem(Value a, Value b) {
  return pick<arith::RemFOp, arith::RemSIOp, arith::RemUIOp>(*this, a, b);
}
Value ClusterBodyBuilder::maximum(Value a, Value b) {
  return pick<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(*this, a, b);
}
Value ClusterBodyBuilder::minimum(Value a, Value b) {
  return pick<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(*this, a, b);
}
Value ClusterBodyBuilder::neg(Value a) {
  return isFloat(a) ? make<arith::NegFOp>(*this, a) : sub(constantInt(a.getType(), 0), a);
}
Value ClusterBodyBuilder::abs(Value a) {
  if (isFloat(a))
    return make<math::AbsFOp>(*this, a);
  return isUnsigned ? a : make<math::AbsIOp>(*this, a);
}
Value ClusterBodyBuilder::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(builder, loc, a, b, c);
}

Value ClusterBodyBuilder::exp(Value a) { return make<math::ExpOp>(*this, a); }
Value ClusterBodyBuilder::log(Value a) { return make<math::LogOp>(*this, a); }
Value ClusterBodyBuilder::log1p(Value a) { return make<math::Log1pOp>(*this, a); }
Value ClusterBodyBuilder::expm1(Value a) { return make<math::ExpM1Op>(*this, a); }
Value ClusterBodyBuilder::sqrt(Value a) { return make<math::SqrtOp>(*this, a); }
Value ClusterBodyBuilder::rsqrt(Value a) {
  Value half = constant(a.getType(), 0.5), one = constant(a.getType(), 1.0);
  // Root and quotient round one after the other, on average down: a bias that all rows of a normalization
  // share. One step of Newton with exact products takes it out; 0 and infinity have no finite residual and
  // stay as they are.
  Value first = div(one, sqrt(a));
  Value product = mul(a, first), rest = fma(a, first, neg(product));
  Value residual = sub(fma(neg(product), first, one), mul(rest, first));
  Value refined = fma(mul(first, half), residual, first);
  return select(compare(Compare::EQ, residual, residual), refined, first);
}
Value ClusterBodyBuilder::tanh(Value a) { return make<math::TanhOp>(*this, a); }
Value ClusterBodyBuilder::erf(Value a) { return make<math::ErfOp>(*this, a); }
Value ClusterBodyBuilder::sin(Value a) { return make<math::SinOp>(*this, a); }
Value ClusterBodyBuilder::cos(Value a) { return make<math::CosOp>(*this, a); }
Value ClusterBodyBuilder::pow(Value a, Value b) { return make<math::PowFOp>(*this, a, b); }
Value ClusterBodyBuilder::floor(Value a) { return make<math::FloorOp>(*this, a); }
Value ClusterBodyBuilder::ceil(Value a) { return make<math::CeilOp>(*this, a); }
Value ClusterBodyBuilder::roundEven(Value a) { return make<math::RoundEvenOp>(*this, a); }
Value ClusterBodyBuilder::sigmoid(Value a) {
  Value one = constant(a.getType(), 1.0);
  return div(one, add(one, exp(neg(a))));
}

Value ClusterBodyBuilder::compare(Compare kind, Value a, Value b) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static const F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  static const I signeds[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static const I unsigneds[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  auto at = static_cast<size_t>(kind);
  if (isFloat(a))
    return arith::CmpFOp::create(builder, loc, floats[at], a, b);
  return arith::CmpIOp::create(builder, loc, isUnsigned ? unsigneds[at] : signeds[at], a, b);
}
Value ClusterBodyBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}
Value ClusterBodyBuilder::logicalAnd(Value a, Value b) { return make<arith::AndIOp>(*this, a, b); }
Value ClusterBodyBuilder::logicalOr(Value a, Value b) { return make<arith::OrIOp>(*this, a, b); }
Value ClusterBodyBuilder::logicalNot(Value a) {
  return make<arith::XOrIOp>(*this, a, constantInt(a.getType(), 1));
}

Value ClusterBodyBuilder::cast(Value a, Type to, bool fromUnsigned, bool toUnsigned) {
  Type from = a.getType();
  if (from == to)
    return a;
  auto create = [&](auto tag) -> Value { return decltype(tag)::create(builder, loc, to, a); };
  bool fromBool = from.isInteger(1);
  if (to.isInteger(1)) {
    Value zero = constantInt(from, 0);
    return isFloat(a) ? Value(arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, a, zero))
                      : Value(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, a, zero));
  }
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth() ? create(arith::ExtFOp())
                                                                     : create(arith::TruncFOp());
  if (isa<FloatType>(from))
    return toUnsigned ? create(arith::FPToUIOp()) : create(arith::FPToSIOp());
  if (isa<FloatType>(to))
    return fromUnsigned || fromBool ? create(arith::UIToFPOp()) : create(arith::SIToFPOp());
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (toWidth < fromWidth)
    return create(arith::TruncIOp());
  if (toWidth == fromWidth)
    return a;
  return fromUnsigned || fromBool ? create(arith::ExtUIOp()) : create(arith::ExtSIOp());
}
