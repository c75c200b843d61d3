// Masters in two parts: a bf16 number, and how far the master is from it.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/CompactOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
/// runtime/format/SplitMaster.h does the same to single numbers.
struct Splitting {
  ClusterBodyBuilder &b;
  Type i32 = b.builder.getI32Type(), f32 = b.builder.getF32Type();
  using Compare = ClusterBodyBuilder::Compare;

  Value integer(int64_t value) { return b.constantInt(i32, value); }
  Value number(double value) { return b.constant(f32, value); }
  Value bitsOf(Value x) { return arith::BitcastOp::create(b.builder, b.loc, i32, x); }
  Value floatOf(Value bits) { return arith::BitcastOp::create(b.builder, b.loc, f32, bits); }
  Value bitAnd(Value x, int64_t mask) { return arith::AndIOp::create(b.builder, b.loc, x, integer(mask)); }

  /// To the nearest bf16 number, ties to even; what is not finite stays.
  Value rounded(Value x) {
    Value bits = bitsOf(x);
    Value odd = bitAnd(arith::ShRUIOp::create(b.builder, b.loc, bits, integer(16)), 1);
    Value nearest = floatOf(bitAnd(b.add(b.add(bits, integer(0x7fff)), odd), -0x10000));
    return b.select(b.compare(Compare::EQ, b.sub(x, x), number(0)), nearest, x);
  }

  /// The exponent's bits, those of 2^-100 at least: below, steps would be no normal numbers.
  Value exponentOf(Value value) { return b.maximum(bitAnd(bitsOf(value), 0x7f800000), integer(27 << 23)); }

  /// ulp / 2 is 2^-8 of the power of two in a bf16 number.
  Value joined(Value value, Value residual) {
    Value step = b.mul(floatOf(exponentOf(value)), number(0x1p-8 / 127));
    return b.fma(residual, step, value);
  }

  Value residualOf(Value x, Value value) {
    Value inverse = floatOf(b.sub(integer(int64_t(254) << 23), exponentOf(value)));
    Value counted = b.roundEven(b.mul(b.mul(b.sub(x, value), inverse), number(127 * 0x1p8)));
    counted = b.select(b.compare(Compare::LT, counted, number(127)), counted, number(127)); // a NaN, too
    counted = b.select(b.compare(Compare::GT, counted, number(-127)), counted, number(-127));
    Value nearer = b.select(b.compare(Compare::GT, counted, number(0)), b.sub(counted, number(1)),
                            b.add(counted, number(1)));
    Value isKept = b.compare(Compare::EQ, rounded(joined(value, counted)), value);
    return b.select(isKept, counted, nearer);
  }
};
} // namespace

LogicalResult SplitOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  auto type = tensorType(adaptor.getX());
  types.append({type.clone(BFloat16Type::get(context)), type.clone(IntegerType::get(context, 8))});
  return success();
}

LogicalResult JoinOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(tensorType(adaptor.getValue()).clone(Float32Type::get(context)));
  return success();
}

void SplitOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Splitting splitting{b};
  Value value = splitting.rounded(v[0]);
  Value residual = b.cast(splitting.residualOf(v[0], value), splitting.i32);
  results.append({value, b.cast(residual, b.builder.getI8Type())});
}

void JoinOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value residual = b.cast(b.cast(v[1], b.builder.getI32Type()), b.builder.getF32Type());
  results.push_back(Splitting{b}.joined(v[0], residual));
}
