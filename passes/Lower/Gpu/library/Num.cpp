#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Lower/Gpu/library/KernelBuilder.h"

using namespace mlir;

namespace kedge::lower::gpu {
namespace {

bool isFloat(Num a) { return isa<FloatType>(getElementTypeOrSelf(a.type())); }

template <typename Integer, typename Float> Num compute(Num a, Num b) {
  KernelBuilder &k = *a.kernel;
  if (isFloat(a))
    return {k, k.b.createOrFold<Float>(k.loc, a.value, b.value)};
  return {k, k.b.createOrFold<Integer>(k.loc, a.value, b.value)};
}

Num compare(Num a, Num b, arith::CmpIPredicate integers, arith::CmpFPredicate floats) {
  KernelBuilder &k = *a.kernel;
  if (isFloat(a))
    return {k, k.b.createOrFold<arith::CmpFOp>(k.loc, floats, a.value, b.value)};
  return {k, k.b.createOrFold<arith::CmpIOp>(k.loc, integers, a.value, b.value)};
}

template <typename Integer> Num bitwise(Num a, Num b) {
  return {*a.kernel, a.kernel->b.createOrFold<Integer>(a.kernel->loc, a.value, b.value)};
}

Num constantOf(Num like, Attribute scalar) {
  KernelBuilder &k = *like.kernel;
  if (auto vector = dyn_cast<VectorType>(like.type()))
    scalar = DenseElementsAttr::get(vector, scalar);
  return {k, arith::ConstantOp::create(k.b, k.loc, cast<TypedAttr>(scalar))};
}

} // namespace

std::optional<int64_t> Num::constant() const {
  APInt number;
  if (!matchPattern(value, m_ConstantInt(&number)))
    return std::nullopt;
  return number.getBitWidth() == 1 ? int64_t(number.getZExtValue()) : number.getSExtValue();
}

Num operator+(Num a, Num b) { return compute<arith::AddIOp, arith::AddFOp>(a, b); }
Num operator-(Num a, Num b) { return compute<arith::SubIOp, arith::SubFOp>(a, b); }
Num operator*(Num a, Num b) { return compute<arith::MulIOp, arith::MulFOp>(a, b); }
Num operator/(Num a, Num b) { return compute<arith::DivUIOp, arith::DivFOp>(a, b); }
Num operator%(Num a, Num b) { return bitwise<arith::RemUIOp>(a, b); }
Num operator&(Num a, Num b) { return bitwise<arith::AndIOp>(a, b); }
Num operator|(Num a, Num b) { return bitwise<arith::OrIOp>(a, b); }
Num operator^(Num a, Num b) { return bitwise<arith::XOrIOp>(a, b); }
Num operator<(Num a, Num b) { return compare(a, b, arith::CmpIPredicate::slt, arith::CmpFPredicate::OLT); }
Num operator<=(Num a, Num b) { return compare(a, b, arith::CmpIPredicate::sle, arith::CmpFPredicate::OLE); }
Num operator>(Num a, Num b) { return compare(a, b, arith::CmpIPredicate::sgt, arith::CmpFPredicate::OGT); }
Num operator>=(Num a, Num b) { return compare(a, b, arith::CmpIPredicate::sge, arith::CmpFPredicate::OGE); }
Num operator==(Num a, Num b) { return compare(a, b, arith::CmpIPredicate::eq, arith::CmpFPredicate::OEQ); }
Num operator!=(Num a, Num b) { return compare(a, b, arith::CmpIPredicate::ne, arith::CmpFPredicate::UNE); }
Num operator!(Num a) { return a ^ literal(a, int64_t(1)); }
Num operator-(Num a) {
  if (!isFloat(a))
    return literal(a, int64_t(0)) - a;
  return {*a.kernel, arith::NegFOp::create(a.kernel->b, a.kernel->loc, a.value)};
}

Num literal(Num like, double value) {
  if (!isFloat(like))
    return literal(like, static_cast<int64_t>(value));
  return constantOf(like, FloatAttr::get(getElementTypeOrSelf(like.type()), value));
}

Num literal(Num like, int64_t value) {
  Type scalar = getElementTypeOrSelf(like.type());
  if (isa<FloatType>(scalar))
    return literal(like, static_cast<double>(value));
  unsigned bits = scalar.getIntOrFloatBitWidth();
  return constantOf(like, IntegerAttr::get(scalar, APInt(bits, value, true, true)));
}

Num select(Num condition, Num a, Num b) {
  return {*a.kernel,
          a.kernel->b.createOrFold<arith::SelectOp>(a.kernel->loc, condition.value, a.value, b.value)};
}
Num max(Num a, Num b) { return select(a > b, a, b); }
Num min(Num a, Num b) { return select(a < b, a, b); }
Num fma(Num a, Num b, Num c) {
  return {*a.kernel, math::FmaOp::create(a.kernel->b, a.kernel->loc, a.value, b.value, c.value)};
}

} // namespace kedge::lower::gpu
