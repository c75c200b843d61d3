// Shapes and bodies of the optimizers beside Adam and SGD.
#include "kedge/Dialect/Train/Optimizer/MoreOptimizerOps.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerShapes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
Value withDecay(ClusterBodyBuilder &b, Value gradient, Value weightDecay, Value param, bool decay) {
  return decay ? b.add(gradient, b.mul(weightDecay, param)) : gradient;
}
} // namespace

#define KEDGE_AS_FIRST(OP, COUNT)                                                                            \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,                \
                                     SmallVectorImpl<Type> &types) {                                         \
    return sameAsFirst(adaptor, COUNT, types);                                                               \
  }
KEDGE_AS_FIRST(LionOp, 2)
KEDGE_AS_FIRST(RMSpropOp, 2)
KEDGE_AS_FIRST(RMSpropMomentumOp, 3)
KEDGE_AS_FIRST(AdagradOp, 2)
KEDGE_AS_FIRST(Adam8bitOp, 5)
#undef KEDGE_AS_FIRST

void train::lionBody(ClusterBodyBuilder &b, ValueRange v, const UpdateFacts &facts,
                     SmallVectorImpl<Value> &results) {
  using Compare = ClusterBodyBuilder::Compare;
  Value param = v[0], moment = v[1], gradient = b.mul(v[2], v[3]);
  Value mixed = b.add(b.mul(v[6], moment), b.mul(v[7], gradient)), zero = b.constant(mixed.getType(), 0);
  Value negative =
      b.select(b.compare(Compare::LT, mixed, zero), b.constant(mixed.getType(), -1), b.mul(mixed, zero));
  Value sign = b.select(b.compare(Compare::GT, mixed, zero), b.constant(mixed.getType(), 1), negative);
  Value step = b.mul(scaled(b, v[5], facts.lrScale), sign);
  if (facts.decay)
    step = b.add(b.mul(scaled(b, v[4], facts.lrScale), param), step);
  results.append({b.sub(param, step), b.add(b.mul(v[8], moment), b.mul(v[9], gradient))});
}

void LionOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  lionBody(b, v, {getDecay(), getLrScale().convertToDouble()}, results);
}

void RMSpropOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value gradient = withDecay(b, b.mul(v[2], v[3]), v[4], v[0], getDecay());
  Value square = b.add(b.mul(v[6], v[1]), b.mul(b.mul(v[7], gradient), gradient));
  Value direction = b.div(gradient, b.add(b.sqrt(square), v[8]));
  results.append({b.sub(v[0], b.mul(scaled(b, v[5], getLrScale().convertToDouble()), direction)), square});
}

void RMSpropMomentumOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v,
                                         SmallVectorImpl<Value> &results) {
  Value gradient = withDecay(b, b.mul(v[3], v[4]), v[5], v[0], getDecay());
  Value square = b.add(b.mul(v[7], v[1]), b.mul(b.mul(v[8], gradient), gradient));
  Value buffer = b.add(b.mul(v[10], v[2]), b.div(gradient, b.add(b.sqrt(square), v[9])));
  results.append(
      {b.sub(v[0], b.mul(scaled(b, v[6], getLrScale().convertToDouble()), buffer)), square, buffer});
}

void AdagradOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value gradient = withDecay(b, b.mul(v[2], v[3]), v[4], v[0], getDecay());
  Value square = b.add(v[1], b.mul(gradient, gradient));
  Value direction = b.div(gradient, b.add(b.sqrt(square), v[6]));
  results.append({b.sub(v[0], b.mul(scaled(b, v[5], getLrScale().convertToDouble()), direction)), square});
}
