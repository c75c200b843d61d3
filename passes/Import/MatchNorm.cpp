#include "passes/Import/MatchNorm.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;
using raise::defining;
using raise::isSplat;
using raise::same;
using raise::skip;
using raise::splatOf;

namespace {
/// v of sqrt(v), also as v^0.5.
Value underRoot(Value v) {
  if (auto root = defining<SqrtOp>(v))
    return skip(root.getX());
  auto power = defining<PowOp>(v);
  return power && isSplat(power.getB(), 0.5) ? skip(power.getA()) : Value();
}

/// v of 1 / sqrt(v), also as v^-0.5.
Value underReciprocalRoot(Value v) {
  if (auto reciprocal = defining<ReciprocalOp>(v))
    return underRoot(reciprocal.getX());
  if (auto quotient = defining<DivOp>(v); quotient && isSplat(quotient.getA(), 1.0))
    return underRoot(quotient.getB());
  auto power = defining<PowOp>(v);
  return power && isSplat(power.getB(), -0.5) ? skip(power.getA()) : Value();
}

/// The v of v^2.
Value underSquare(Value v) {
  if (auto power = defining<PowOp>(v); power && isSplat(power.getB(), 2.0))
    return skip(power.getA());
  auto product = defining<MulOp>(v);
  return product && same(product.getA(), product.getB()) ? skip(product.getA()) : Value();
}

/// mean(value^2) + epsilon.
std::optional<raise::Deviation> matchVariance(Value v, Value value) {
  auto sum = v ? defining<AddOp>(v) : AddOp();
  if (!sum)
    return std::nullopt;
  for (auto [mean, offset] : {std::pair(sum.getA(), sum.getB()), std::pair(sum.getB(), sum.getA())}) {
    auto epsilon = splatOf(offset);
    auto reduce = defining<ReduceMeanOp>(mean);
    auto axis = reduce ? raise::trailingMeanAxis(reduce) : std::nullopt;
    Value squared = axis ? underSquare(reduce.getX()) : Value();
    if (epsilon && squared && same(squared, value))
      return raise::Deviation{skip(value), *axis, *epsilon};
  }
  return std::nullopt;
}

/// The user that maps v by `Op` with a row parameter, when nobody else uses v.
template <typename Op> std::pair<Op, Value> rowUser(Value v, int64_t axis) {
  auto user = dyn_cast_or_null<Op>(raise::onlyUser(v));
  Value parameter = user ? raise::otherOperand(user, v) : Value();
  if (!parameter || user.getResult().getType() != v.getType() || !raise::isRowParameter(parameter, v, axis))
    return {};
  return {user, parameter};
}
} // namespace

std::optional<raise::Deviation> raise::matchDeviation(Operation *root) {
  Value a = root->getOperand(0), b = root->getOperand(1);
  if (isa<DivOp>(root))
    return matchVariance(underRoot(b), a);
  if (!isa<MulOp>(root))
    return std::nullopt;
  if (auto found = matchVariance(underReciprocalRoot(b), a))
    return found;
  return matchVariance(underReciprocalRoot(a), b);
}

raise::AffineTail raise::followAffine(Value normalized, int64_t axis, bool withBias) {
  AffineTail tail{{}, {}, normalized};
  if (auto [scaled, scale] = rowUser<MulOp>(tail.last, axis); scaled) {
    tail.scale = scale;
    tail.last = scaled.getResult();
  }
  if (!withBias)
    return tail;
  if (auto [shifted, bias] = rowUser<AddOp>(tail.last, axis); shifted) {
    tail.bias = bias;
    tail.last = shifted.getResult();
  }
  return tail;
}

Value raise::rowScale(OpBuilder &builder, Location loc, Value weight, Value x, int64_t axis) {
  int64_t rank = rankOf(x) - axis;
  if (weight)
    return dropLeadingOnes(builder, loc, weight, rank);
  return splat(builder, loc, RankedTensorType::get(shapeOf(x).take_back(rank), elementOf(x)), 1.0);
}
