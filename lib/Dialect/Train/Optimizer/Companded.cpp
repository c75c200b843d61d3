// Updates on companded moments: decoded, the rule's own body, encoded, in one row of a group.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/CompactOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
/// A scale: fp16 numbers in memory are this times those that compute, since gradients of large models are
/// below the normal numbers of fp16. It is read and written as bits, next to the vectors of elements.
class GroupScale {
public:
  explicit GroupScale(ClusterBodyBuilder &b) : b(b) {}

  /// `loaded`: f32 of what is in memory. No scale is a subnormal number, and where it is 0 all codes are.
  Value decode(Value loaded) {
    auto half = loaded.getDefiningOp<arith::ExtFOp>().getIn();
    Value bits = b.cast(arith::BitcastOp::create(b.builder, b.loc, b.builder.getI16Type(), half), i32,
                        /*fromUnsigned=*/true);
    return floatOf(b.add(shiftedLeft(bits, kLostBits), integer(kExponents << kSingleBits)));
  }

  struct Encoded {
    Value scale, inMemory;
  };
  /// Of the largest of magnitudes, in normal numbers of fp16.
  Encoded encode(Value magnitude) {
    Value bits = b.max(arith::BitcastOp::create(b.builder, b.loc, i32, magnitude));
    bits = b.minimum(b.maximum(bits, integer(bitsOf(kLeast))), integer(bitsOf(kLargest)));
    Value odd =
        arith::AndIOp::create(b.builder, b.loc, shiftedRight(bits, kLostBits), integer(1)); // ties to even
    bits = b.add(b.add(bits, integer((1 << (kLostBits - 1)) - 1)), odd);
    Value kept = shiftedRight(bits, kLostBits);
    Value half = b.cast(b.sub(kept, integer(kExponents << kHalfBits)), b.builder.getI16Type());
    return {floatOf(shiftedLeft(kept, kLostBits)),
            arith::BitcastOp::create(b.builder, b.loc, b.builder.getF16Type(), half)};
  }

private:
  static constexpr int kUnit = 10; ///< a power of two
  static constexpr float kLeast = 0x1p-14f / (1 << kUnit), kLargest = 65504.f / (1 << kUnit);
  static constexpr int kSingleBits = 23, kHalfBits = 10, kLostBits = kSingleBits - kHalfBits;
  static constexpr int kExponents = 127 - 15 - kUnit; ///< an exponent's bits in f32 and in memory

  static int32_t bitsOf(float x) { return llvm::bit_cast<int32_t>(x); }
  Value integer(int64_t value) { return b.constantInt(i32, value); }
  Value shiftedLeft(Value x, int by) { return arith::ShLIOp::create(b.builder, b.loc, x, integer(by)); }
  Value shiftedRight(Value x, int by) { return arith::ShRUIOp::create(b.builder, b.loc, x, integer(by)); }
  Value floatOf(Value bits) {
    return arith::BitcastOp::create(b.builder, b.loc, b.builder.getF32Type(), bits);
  }

  ClusterBodyBuilder &b;
  const Type i32 = b.builder.getI32Type();
};

/// A moment of one group.
class Companding {
public:
  Companding(ClusterBodyBuilder &b, bool isSigned) : b(b), isSigned(isSigned) {}

  Value decode(Value code, Value loadedScale) {
    Value scale = GroupScale(b).decode(loadedScale);
    Value counted = b.cast(b.cast(code, i32, /*fromUnsigned=*/!isSigned), f32);
    if (isSigned) // y / (2 - |y|) of y = code / 127
      return b.mul(b.mul(counted, scale), inverseOfShare(b.sub(number(254), b.abs(counted))));
    rootBefore = b.mul(counted, b.mul(scale, number(1.0 / 255)));
    return before = b.mul(rootBefore, rootBefore);
  }

  struct Encoded {
    Value code, scale; ///< as they are in memory
  };
  Encoded encode(Value value) {
    Value magnitude = isSigned ? b.abs(value) : rootOf(value);
    auto [scale, inMemory] = GroupScale(b).encode(magnitude);
    if (!isSigned)
      return {rounded(b.fma(magnitude, b.div(number(255), scale), number(kWhole)), 0, 255), inMemory};
    Value part = b.fma(magnitude, number(1.0 / 254), b.mul(scale, number(1.0 / 254)));
    return {rounded(b.add(b.div(value, part), number(kWhole)), -127, 127), inMemory};
  }

private:
  using Compare = ClusterBodyBuilder::Compare;
  Value number(double value) { return b.constant(f32, value); }

  /// What is added to this loses what is behind the point, ties to even, and ends in the bits of the integer.
  static constexpr double kWhole = 0x1.8p23;
  Value rounded(Value sum, int least, int most) {
    const auto limited = [&](Compare kind, int limit) { // a number also of what is none
      Value at = number(kWhole + limit);
      sum = b.select(b.compare(kind, sum, at), sum, at);
    };
    limited(Compare::LT, most);
    if (least < 0) // roots are not below 0
      limited(Compare::GT, least);
    return b.cast(arith::BitcastOp::create(b.builder, b.loc, i32, sum), b.builder.getI8Type());
  }

  /// 1 / d of d from 126 to 254, to two units in the last place: a cubic within 0.18%, the error of which one
  /// step raises to its third power. An update has divisions and roots enough to wait for.
  Value inverseOfShare(Value d) {
    constexpr double kUnit = 127, kCubic[] = {2.839624199, -2.961252782, 1.345010534, -0.224758339};
    Value x = number(kCubic[3] / std::pow(kUnit, 4));
    for (int k = 2; k >= 0; --k)
      x = b.fma(x, d, number(kCubic[k] / std::pow(kUnit, k + 1)));
    Value error = b.fma(b.neg(d), x, number(1));
    return b.fma(x, b.fma(error, error, error), x);
  }

  /// An update has taken the root already, and that of what stays where the gradient is not finite is known.
  Value rootOf(Value value) {
    auto select = value.getDefiningOp<arith::SelectOp>();
    if (select && select.getFalseValue() == before)
      return b.select(select.getCondition(), b.sqrt(select.getTrueValue()), rootBefore);
    return b.sqrt(value);
  }

  ClusterBodyBuilder &b;
  const bool isSigned;
  const Type i32 = b.builder.getI32Type(), f32 = b.builder.getF32Type();
  Value before, rootBefore; ///< of a mean of squares
};

/// step / (root / bias + eps) = (step bias) / (root + eps bias), so that no element divides by the
/// correction.
void takeInBiasCorrection(ClusterBodyBuilder &b, MutableArrayRef<Value> scalars) {
  enum { StepSize = 2, BiasSqrt = 6, Eps = 7 };
  Value bias = std::exchange(scalars[BiasSqrt], Value());
  for (int each : {StepSize, Eps})
    scalars[each] = b.mul(scalars[each], bias);
}

using UpdateBody = void (*)(ClusterBodyBuilder &, ValueRange, const UpdateFacts &, SmallVectorImpl<Value> &);

/// In the order of CompandedRule.
constexpr UpdateBody kBodies[] = {adamWBody, adamBody, lionBody, momentumBody};
} // namespace

LogicalResult CompandedOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getParam().getType());
  llvm::append_range(types, adaptor.getStates().getTypes());
  return success();
}

void CompandedOp::describeCluster(ClusterSpec &spec) {
  MLIRContext *context = getContext();
  spec.domain = llvm::to_vector(shapeOf(getParam()));
  spec.reduced = {false, true};
  AffineMap whole = AffineMap::getMultiDimIdentityMap(2, context);
  AffineMap group = AffineMap::get(2, 0, {getAffineDimExpr(0, context)}, context);
  AffineMap scalar = AffineMap::get(2, 0, {}, context);
  const auto mapOf = [&](Value x) { return rankOf(x) == 2 ? whole : rankOf(x) == 1 ? group : scalar; };
  for (Value operand : getOperands())
    spec.inputMaps.push_back(mapOf(operand));
  for (Value result : getResults())
    spec.outputMaps.push_back(mapOf(result));
}

void CompandedOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  const size_t stateCount = getStates().size();
  ValueRange states = v.slice(2, stateCount);
  SmallVector<Value> scalars(v.drop_front(2 + stateCount));
  if (getRule() == CompandedRule::AdamW || getRule() == CompandedRule::Adam)
    takeInBiasCorrection(b, scalars);
  SmallVector<Companding> moments;
  for (size_t k = 0; k < stateCount; k += 2)
    moments.emplace_back(b, !elementOf(getStates()[k]).isUnsignedInteger());
  SmallVector<Value> operands = {v[0]};
  for (auto [k, moment] : llvm::enumerate(moments))
    operands.push_back(moment.decode(states[2 * k], states[2 * k + 1]));
  operands.push_back(v[1]);
  llvm::append_range(operands, scalars);
  SmallVector<Value> updated;
  kBodies[static_cast<size_t>(getRule())](
      b, operands, {getDecay(), getLrScale().convertToDouble(), getNesterov()}, updated);
  results.push_back(updated[0]);
  for (auto [moment, value] : llvm::zip_equal(moments, ArrayRef<Value>(updated).drop_front())) {
    const auto [code, scale] = moment.encode(value);
    results.append({code, scale});
  }
}
