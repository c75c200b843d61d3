// Updates on companded moments: decoded, the rule's own body, encoded, in one row of a group.
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Dialect/Train/Optimizer/CompactOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
/// Scales in memory are this times those that compute: gradients of large models are below the normal numbers
/// of fp16, and none is above 64.
constexpr double kScaleUnit = 1024;
constexpr double kLeastScale = 0x1p-14, kLargestScale = 65504; ///< normal numbers of fp16

class Companding {
public:
  Companding(ClusterBodyBuilder &b, bool isSigned) : b(b), isSigned(isSigned) {}

  Value decode(Value code, Value scale) {
    scale = b.mul(scale, number(1 / kScaleUnit));
    Value counted = b.cast(b.cast(code, b.builder.getI32Type(), /*fromUnsigned=*/!isSigned), f32);
    if (isSigned) // y / (2 - |y|) of y = code / 127
      return b.div(b.mul(counted, scale), b.sub(number(254), b.abs(counted)));
    Value root = b.mul(counted, b.mul(scale, number(1.0 / 255)));
    return b.mul(root, root);
  }

  struct Encoded {
    Value code, scale; ///< as they are in memory
  };
  Encoded encode(Value value) {
    Value root = isSigned ? value : b.sqrt(value);
    Value inMemory = roundedToHalf(largestMagnitude(root));
    Value scale = b.mul(inMemory, number(1 / kScaleUnit));
    Value code = isSigned ? b.div(b.mul(root, number(254)), b.add(scale, b.abs(root)))
                          : b.mul(root, b.div(number(255), scale));
    code = least(b.roundEven(code), number(isSigned ? 127 : 255));
    if (isSigned)
      code = most(code, number(-127));
    return {b.cast(b.cast(code, b.builder.getI32Type()), b.builder.getI8Type()), inMemory};
  }

private:
  using Compare = ClusterBodyBuilder::Compare;
  Value number(double value) { return b.constant(f32, value); }
  Value integer(int64_t value) { return b.constantInt(b.builder.getI32Type(), value); }
  /// A number also of what is none.
  Value least(Value x, Value y) { return b.select(b.compare(Compare::LT, x, y), x, y); }
  Value most(Value x, Value y) { return b.select(b.compare(Compare::GT, x, y), x, y); }

  /// Of a group, in memory's unit and fp16's normal numbers.
  Value largestMagnitude(Value x) {
    Value bits = arith::BitcastOp::create(b.builder, b.loc, b.builder.getI32Type(), b.abs(x));
    Value largest = arith::BitcastOp::create(b.builder, b.loc, f32, b.max(bits));
    return least(most(b.mul(largest, number(kScaleUnit)), number(kLeastScale)), number(kLargestScale));
  }

  /// Ten bits behind the point, ties to even: what memory will hold.
  Value roundedToHalf(Value x) {
    Value bits = arith::BitcastOp::create(b.builder, b.loc, b.builder.getI32Type(), x);
    Value odd = arith::AndIOp::create(
        b.builder, b.loc, arith::ShRUIOp::create(b.builder, b.loc, bits, integer(13)), integer(1));
    bits = arith::AndIOp::create(b.builder, b.loc, b.add(b.add(bits, integer(0xfff)), odd), integer(-0x2000));
    return arith::BitcastOp::create(b.builder, b.loc, f32, bits);
  }

  ClusterBodyBuilder &b;
  const bool isSigned;
  const Type f32 = b.builder.getF32Type();
};

using UpdateBody = void (*)(ClusterBodyBuilder &, ValueRange, const UpdateFacts &, SmallVectorImpl<Value> &);

UpdateBody bodyOf(StringRef rule) {
  return llvm::StringSwitch<UpdateBody>(rule)
      .Case("adamw", adamWBody)
      .Case("adam", adamBody)
      .Case("lion", lionBody)
      .Case("momentum", momentumBody);
}
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
  ValueRange states = v.slice(2, stateCount), scalars = v.drop_front(2 + stateCount);
  SmallVector<Companding> moments;
  for (size_t k = 0; k < stateCount; k += 2)
    moments.emplace_back(b, !elementOf(getStates()[k]).isUnsignedInteger());
  SmallVector<Value> operands = {v[0]};
  for (auto [k, moment] : llvm::enumerate(moments))
    operands.push_back(moment.decode(states[2 * k], states[2 * k + 1]));
  operands.push_back(v[1]);
  llvm::append_range(operands, scalars);
  SmallVector<Value> updated;
  bodyOf(getRule())(b, operands, {getDecay(), getLrScale().convertToDouble(), getNesterov()}, updated);
  results.push_back(updated[0]);
  for (auto [moment, value] : llvm::zip_equal(moments, ArrayRef<Value>(updated).drop_front())) {
    const auto [code, scale] = moment.encode(value);
    results.append({code, scale});
  }
}
