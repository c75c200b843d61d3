// Rounding to bf16 by a hash of the number before.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/CompactOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

LogicalResult DitherOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(tensorType(adaptor.getX()).clone(BFloat16Type::get(context)));
  return success();
}

/// bf16 is the upper half of f32: what is added below it carries as often as the lower half is large.
void DitherOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Type i32 = b.builder.getI32Type();
  const auto integer = [&](uint32_t value) { return b.constantInt(i32, static_cast<int32_t>(value)); };
  const auto upper = [&](Value x, int bits) -> Value {
    return arith::ShRUIOp::create(b.builder, b.loc, x, integer(bits));
  };
  Value bits = arith::BitcastOp::create(b.builder, b.loc, i32, v[0]);
  Value old = arith::BitcastOp::create(b.builder, b.loc, i32, v[1]);
  Value hash = b.add(b.mul(old, integer(0x9e3779b1)), b.mul(b.cast(v[2], i32), integer(0x85ebca6b)));
  hash = b.mul(b.add(hash, upper(hash, 15)), integer(0xc2b2ae35));
  hash = b.mul(b.add(hash, upper(hash, 13)), integer(0x27d4eb2f));
  Value carried = arith::AndIOp::create(b.builder, b.loc, b.add(bits, upper(hash, 16)), integer(0xffff0000));
  Value rounded = arith::BitcastOp::create(b.builder, b.loc, v[0].getType(), carried);
  Value isFinite =
      b.compare(ClusterBodyBuilder::Compare::EQ, b.sub(v[0], v[0]), b.constant(v[0].getType(), 0));
  results.push_back(b.select(isFinite, rounded, v[0]));
}
