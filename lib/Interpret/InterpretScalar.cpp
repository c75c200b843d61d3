#include "lib/Interpret/InterpretScalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::interpret;

namespace {
double roundFloat(double value, FloatType type) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  APFloat narrow(value);
  bool inexact;
  narrow.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
  narrow.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return narrow.convertToDouble();
}

uint64_t zeroExtended(int64_t value, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  return width >= 64 ? value : static_cast<uint64_t>(value) & ((uint64_t(1) << width) - 1);
}

bool compareFloats(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    return a == b;
  case P::UNE:
    return a != b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::UNO:
    return std::isnan(a) || std::isnan(b);
  case P::ORD:
    return !std::isnan(a) && !std::isnan(b);
  case P::ONE:
    return a < b || a > b;
  case P::UEQ:
    return !(a < b || a > b);
  default:
    return false;
  }
}

bool compareInts(arith::CmpIPredicate predicate, int64_t a, int64_t b, uint64_t ua, uint64_t ub) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  return false;
}

double propagateMax(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b); }
double propagateMin(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b); }

bool floatBinary(Operation &op, double a, double b, double &r) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case<arith::AddFOp>([&](auto) { return r = a + b, true; })
      .Case<arith::SubFOp>([&](auto) { return r = a - b, true; })
      .Case<arith::MulFOp>([&](auto) { return r = a * b, true; })
      .Case<arith::DivFOp>([&](auto) { return r = a / b, true; })
      .Case<arith::RemFOp>([&](auto) { return r = std::fmod(a, b), true; })
      .Case<arith::MaximumFOp>([&](auto) { return r = propagateMax(a, b), true; })
      .Case<arith::MinimumFOp>([&](auto) { return r = propagateMin(a, b), true; })
      .Case<math::PowFOp>([&](auto) { return r = std::pow(a, b), true; })
      .Case<math::Atan2Op>([&](auto) { return r = std::atan2(a, b), true; })
      .Case<math::CopySignOp>([&](auto) { return r = std::copysign(a, b), true; })
      .Default([](auto) { return false; });
}

bool floatUnary(Operation &op, double a, double &r) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case<arith::NegFOp>([&](auto) { return r = -a, true; })
      .Case<math::AbsFOp>([&](auto) { return r = std::fabs(a), true; })
      .Case<math::ExpOp>([&](auto) { return r = std::exp(a), true; })
      .Case<math::Exp2Op>([&](auto) { return r = std::exp2(a), true; })
      .Case<math::ExpM1Op>([&](auto) { return r = std::expm1(a), true; })
      .Case<math::LogOp>([&](auto) { return r = std::log(a), true; })
      .Case<math::Log2Op>([&](auto) { return r = std::log2(a), true; })
      .Case<math::Log1pOp>([&](auto) { return r = std::log1p(a), true; })
      .Case<math::SqrtOp>([&](auto) { return r = std::sqrt(a), true; })
      .Case<math::RsqrtOp>([&](auto) { return r = 1 / std::sqrt(a), true; })
      .Case<math::TanhOp>([&](auto) { return r = std::tanh(a), true; })
      .Case<math::ErfOp>([&](auto) { return r = std::erf(a), true; })
      .Case<math::SinOp>([&](auto) { return r = std::sin(a), true; })
      .Case<math::CosOp>([&](auto) { return r = std::cos(a), true; })
      .Case<math::TanOp>([&](auto) { return r = std::tan(a), true; })
      .Case<math::AsinOp>([&](auto) { return r = std::asin(a), true; })
      .Case<math::AcosOp>([&](auto) { return r = std::acos(a), true; })
      .Case<math::AtanOp>([&](auto) { return r = std::atan(a), true; })
      .Case<math::SinhOp>([&](auto) { return r = std::sinh(a), true; })
      .Case<math::CoshOp>([&](auto) { return r = std::cosh(a), true; })
      .Case<math::AsinhOp>([&](auto) { return r = std::asinh(a), true; })
      .Case<math::AcoshOp>([&](auto) { return r = std::acosh(a), true; })
      .Case<math::AtanhOp>([&](auto) { return r = std::atanh(a), true; })
      .Case<math::FloorOp>([&](auto) { return r = std::floor(a), true; })
      .Case<math::CeilOp>([&](auto) { return r = std::ceil(a), true; })
      .Case<math::TruncOp>([&](auto) { return r = std::trunc(a), true; })
      .Case<math::RoundOp>([&](auto) { return r = std::round(a), true; })
      .Case<math::RoundEvenOp>([&](auto) { return r = std::nearbyint(a), true; })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return r = a, true; })
      .Default([](auto) { return false; });
}

bool intBinary(Operation &op, int64_t a, int64_t b, int64_t &r) {
  Type type = op.getOperand(0).getType();
  uint64_t ua = zeroExtended(a, type), ub = zeroExtended(b, type);
  auto wrapped = [&](uint64_t value) { return r = static_cast<int64_t>(value), true; };
  uint64_t wideA = static_cast<uint64_t>(a), wideB = static_cast<uint64_t>(b);
  return TypeSwitch<Operation *, bool>(&op)
      .Case<arith::AddIOp>([&](auto) { return wrapped(wideA + wideB); })
      .Case<arith::SubIOp>([&](auto) { return wrapped(wideA - wideB); })
      .Case<arith::MulIOp>([&](auto) { return wrapped(wideA * wideB); })
      .Case<arith::DivSIOp>(
          [&](auto) { return b != 0 && (b == -1 ? wrapped(0 - wideA) : (r = a / b, true)); })
      .Case<arith::DivUIOp>([&](auto) { return b != 0 && (r = ua / ub, true); })
      .Case<arith::RemSIOp>([&](auto) { return b != 0 && (r = b == -1 ? 0 : a % b, true); })
      .Case<arith::RemUIOp>([&](auto) { return b != 0 && (r = ua % ub, true); })
      .Case<arith::MaxSIOp>([&](auto) { return r = std::max(a, b), true; })
      .Case<arith::MinSIOp>([&](auto) { return r = std::min(a, b), true; })
      .Case<arith::MaxUIOp>([&](auto) { return r = std::max(ua, ub), true; })
      .Case<arith::MinUIOp>([&](auto) { return r = std::min(ua, ub), true; })
      .Case<arith::AndIOp>([&](auto) { return r = a & b, true; })
      .Case<arith::OrIOp>([&](auto) { return r = a | b, true; })
      .Case<arith::XOrIOp>([&](auto) { return r = a ^ b, true; })
      .Case<arith::ShLIOp>([&](auto) { return r = ub < 64 ? ua << ub : 0, true; })
      .Case<arith::ShRUIOp>([&](auto) { return r = ub < 64 ? ua >> ub : 0, true; })
      .Case<arith::ShRSIOp>([&](auto) { return r = a >> std::min<uint64_t>(ub, 63), true; })
      .Default([](auto) { return false; });
}

bool conversion(Operation &op, Scalar a, Scalar &r) {
  Type from = op.getOperand(0).getType();
  return TypeSwitch<Operation *, bool>(&op)
      .Case<arith::SIToFPOp>([&](auto) { return r.f = static_cast<double>(a.i), true; })
      .Case<arith::UIToFPOp>([&](auto) { return r.f = static_cast<double>(zeroExtended(a.i, from)), true; })
      .Case<arith::FPToSIOp>([&](auto) { return r.i = static_cast<int64_t>(a.f), true; })
      .Case<arith::FPToUIOp>(
          [&](auto) { return r.i = static_cast<int64_t>(static_cast<uint64_t>(a.f)), true; })
      .Case<arith::ExtSIOp>([&](auto) { return r.i = from.isInteger(1) ? -a.i : a.i, true; })
      .Case<arith::ExtUIOp>([&](auto) { return r.i = zeroExtended(a.i, from), true; })
      .Case<arith::TruncIOp>([&](auto) { return r.i = a.i, true; })
      .Case<math::AbsIOp>([&](auto) { return r.i = a.i < 0 ? -a.i : a.i, true; })
      .Case<math::IsNaNOp>([&](auto) { return r.i = std::isnan(a.f), true; })
      .Case<math::IsInfOp>([&](auto) { return r.i = std::isinf(a.f), true; })
      .Case<math::IsFiniteOp>([&](auto) { return r.i = std::isfinite(a.f), true; })
      .Default([](auto) { return false; });
}
} // namespace

Scalar kedge::interpret::roundTo(Scalar value, Type type) {
  if (auto floating = dyn_cast<FloatType>(type)) {
    value.f = roundFloat(value.f, floating);
    return value;
  }
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (width == 1)
    value.i &= 1;
  else if (width < 64)
    value.i = static_cast<int64_t>(static_cast<uint64_t>(value.i) << (64 - width)) >> (64 - width);
  return value;
}

bool kedge::interpret::interpretScalar(Operation &op, ArrayRef<Scalar> v, Scalar &r) {
  bool known = false;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
      r.f = number.getValueAsDouble();
    else
      r.i = cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue();
    known = true;
  } else if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    r.i = compareFloats(compare.getPredicate(), v[0].f, v[1].f);
    known = true;
  } else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    Type type = compare.getLhs().getType();
    r.i = compareInts(compare.getPredicate(), v[0].i, v[1].i, zeroExtended(v[0].i, type),
                      zeroExtended(v[1].i, type));
    known = true;
  } else if (isa<arith::SelectOp>(op)) {
    r = v[0].i ? v[1] : v[2];
    known = true;
  } else if (isa<math::FmaOp>(op)) {
    r.f = std::fma(v[0].f, v[1].f, v[2].f);
    known = true;
  } else if (v.size() == 2) {
    bool isFloat = isa<FloatType>(op.getOperand(0).getType());
    known = isFloat ? floatBinary(op, v[0].f, v[1].f, r.f) : intBinary(op, v[0].i, v[1].i, r.i);
  } else if (v.size() == 1) {
    known = conversion(op, v[0], r) ||
            (isa<FloatType>(op.getOperand(0).getType()) && floatUnary(op, v[0].f, r.f));
  }
  if (known)
    r = roundTo(r, op.getResult(0).getType());
  return known;
}
