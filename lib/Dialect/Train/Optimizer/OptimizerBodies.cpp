// Shapes and bodies of the optimizer's ops.
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerShapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
struct AdamScalars {
  Value param, moment1, moment2, gradient, decayScale, stepSize, oneMinusBeta1, beta2, oneMinusBeta2,
      biasSqrt, eps;
};

AdamScalars adamScalars(ClusterBodyBuilder &b, ValueRange v) {
  return {v[0], v[1], v[2], b.mul(v[3], v[4]), v[5], v[6], v[7], v[8], v[9], v[10], v[11]};
}

/// Where the gradient is not finite the old values stay: the run ends, and what is said of the step is found
/// by running it again on them. x - x is 0 for finite numbers and NaN for all others.
void keepWhereNotFinite(ClusterBodyBuilder &b, Value gradient, ArrayRef<Value> before,
                        SmallVectorImpl<Value> &results) {
  Value finite = b.compare(ClusterBodyBuilder::Compare::EQ, b.sub(gradient, gradient),
                           b.constant(gradient.getType(), 0));
  for (auto [result, old] : llvm::zip_equal(results, before))
    result = b.select(finite, result, old);
}

/// `decay` is subtracted along with the step (null: none). biasSqrt may be null: stepSize and eps have it.
void adamUpdate(ClusterBodyBuilder &b, const AdamScalars &s, Value gradient, double lrScale, Value decay,
                SmallVectorImpl<Value> &results) {
  Value moment1 = b.add(s.moment1, b.mul(s.oneMinusBeta1, b.sub(gradient, s.moment1)));
  Value moment2 = b.add(b.mul(s.beta2, s.moment2), b.mul(b.mul(s.oneMinusBeta2, gradient), gradient));
  Value root = b.sqrt(moment2);
  Value denominator = b.add(s.biasSqrt ? b.div(root, s.biasSqrt) : root, s.eps);
  Value step = b.mul(scaled(b, s.stepSize, lrScale), b.div(moment1, denominator));
  results.append({b.sub(s.param, decay ? b.add(decay, step) : step), moment1, moment2});
  keepWhereNotFinite(b, s.gradient, {s.param, s.moment1, s.moment2}, results);
}

Value regularised(ClusterBodyBuilder &b, Value gradient, Value weightDecay, Value param, bool decay) {
  return decay ? b.add(gradient, b.mul(weightDecay, param)) : gradient;
}
} // namespace

#define KEDGE_LIKE_FIRST(OP, COUNT)                                                                          \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,                \
                                     SmallVectorImpl<Type> &types) {                                         \
    return sameAsFirst(adaptor, COUNT, types);                                                               \
  }
KEDGE_LIKE_FIRST(AdamWOp, 3)
KEDGE_LIKE_FIRST(AdamOp, 3)
KEDGE_LIKE_FIRST(SGDOp, 1)
KEDGE_LIKE_FIRST(MomentumOp, 2)
KEDGE_LIKE_FIRST(AccumulateOp, 1)
KEDGE_LIKE_FIRST(AverageOp, 1)
KEDGE_LIKE_FIRST(ItemScaleOp, 1)
KEDGE_LIKE_FIRST(ClipScaleOp, 1)
#undef KEDGE_LIKE_FIRST

LogicalResult StochasticRoundOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (!elementOf(adaptor.getX()).isF32())
    return emitOptionalError(location, "rounds ", adaptor.getX().getType(), ", expected f32");
  types.push_back(tensorType(adaptor.getX()).clone(BFloat16Type::get(context)));
  return success();
}

void StochasticRoundOp::describeCluster(ClusterSpec &spec) { describeBroadcast(getOperation(), spec); }

/// bf16 is the upper half of f32: what is added below it carries as often as the lower half is large.
void StochasticRoundOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v,
                                         SmallVectorImpl<Value> &results) {
  Type i64 = b.builder.getI64Type(), i32 = b.builder.getI32Type();
  ArrayRef<int64_t> shape = shapeOf(getX());
  Value element = b.constantInt(i64, 0);
  int64_t stride = 1;
  for (int64_t dim = shape.size() - 1; dim >= 0; stride *= shape[dim], --dim)
    element = b.add(element, b.mul(b.index(dim), b.constantInt(i64, stride)));
  Value drawn = b.random(v[1], getOpId(), v[2], b.constantInt(i64, 0), element);
  Value chance = b.cast(b.mul(drawn, b.constant(drawn.getType(), 65536)), i32);
  Value bits = arith::BitcastOp::create(b.builder, b.loc, i32, v[0]);
  Value carried = arith::AndIOp::create(b.builder, b.loc, b.add(bits, chance), b.constantInt(i32, -65536));
  Value rounded = arith::BitcastOp::create(b.builder, b.loc, v[0].getType(), carried);
  Value isFinite =
      b.compare(ClusterBodyBuilder::Compare::EQ, b.sub(v[0], v[0]), b.constant(v[0].getType(), 0));
  results.push_back(b.select(isFinite, rounded, v[0]));
}

void train::adamWBody(ClusterBodyBuilder &b, ValueRange v, const UpdateFacts &facts,
                      SmallVectorImpl<Value> &results) {
  AdamScalars s = adamScalars(b, v);
  // Not param (1 - lr wd): near 1 that factor has a step of 6e-8, which for lr wd = 1e-5 is an error of up to
  // 0.3% of the decay, the same in every step.
  Value decay = facts.decay ? b.mul(scaled(b, s.decayScale, facts.lrScale), s.param) : Value();
  adamUpdate(b, s, s.gradient, facts.lrScale, decay, results);
}

void train::adamBody(ClusterBodyBuilder &b, ValueRange v, const UpdateFacts &facts,
                     SmallVectorImpl<Value> &results) {
  AdamScalars s = adamScalars(b, v);
  Value gradient = regularised(b, s.gradient, s.decayScale, s.param, facts.decay);
  adamUpdate(b, s, gradient, facts.lrScale, Value(), results);
}

void train::momentumBody(ClusterBodyBuilder &b, ValueRange v, const UpdateFacts &facts,
                         SmallVectorImpl<Value> &results) {
  Value gradient = regularised(b, b.mul(v[2], v[3]), v[4], v[0], facts.decay);
  Value buffer = b.add(b.mul(v[6], v[1]), gradient);
  Value direction = facts.nesterov ? b.add(gradient, b.mul(v[6], buffer)) : buffer;
  results.push_back(b.sub(v[0], b.mul(scaled(b, v[5], facts.lrScale), direction)));
  results.push_back(buffer);
  keepWhereNotFinite(b, v[2], {v[0], v[1]}, results);
}

void AdamWOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  adamWBody(b, v, {getDecay(), getLrScale().convertToDouble()}, results);
}

void AdamOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  adamBody(b, v, {getDecay(), getLrScale().convertToDouble()}, results);
}

void SGDOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value gradient = regularised(b, b.mul(v[1], v[2]), v[3], v[0], getDecay());
  results.push_back(b.sub(v[0], b.mul(scaled(b, v[4], getLrScale().convertToDouble()), gradient)));
  keepWhereNotFinite(b, v[1], {v[0]}, results);
}

void MomentumOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  momentumBody(b, v, {getDecay(), getLrScale().convertToDouble(), getNesterov()}, results);
}

void AccumulateOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value first = b.compare(ClusterBodyBuilder::Compare::EQ, v[2], b.constantInt(v[2].getType(), 0));
  results.push_back(b.select(first, v[1], b.add(v[0], v[1])));
}

void AverageOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value share = b.constant(v[0].getType(), 1 - getDecay().convertToDouble());
  results.push_back(b.add(v[0], b.mul(share, b.sub(v[1], v[0]))));
}

void ItemScaleOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value zero = b.constant(v[0].getType(), 0);
  Value none = b.compare(ClusterBodyBuilder::Compare::EQ, v[0], zero);
  results.push_back(
      b.select(none, zero, b.div(b.constant(v[0].getType(), getNominal().convertToDouble()), v[0])));
}

void ClipScaleOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Type type = v[0].getType();
  Value limit = b.div(b.constant(type, getMaxNorm().convertToDouble()), b.add(v[0], b.constant(type, 1e-6)));
  results.push_back(b.mul(v[1], b.minimum(b.constant(type, 1), limit)));
}
