// Negative log-likelihood of items, from logits or log-probabilities, and its gradient.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;
using Compare = ClusterBodyBuilder::Compare;

namespace {
/// Maps of scores [N, C, ...], labels and items [N, ...], class weights [C].
struct NllMaps {
  AffineMap scores, items, classes, one;

  NllMaps(MLIRContext *context, unsigned rank, unsigned itemRank) {
    SmallVector<AffineExpr> item;
    for (unsigned dim = 0; dim < rank; ++dim)
      if (dim != 1)
        item.push_back(getAffineDimExpr(dim, context));
    scores = AffineMap::getMultiDimIdentityMap(rank, context);
    items = AffineMap::get(rank, 0, item, context);
    classes = AffineMap::get(rank, 0, getAffineDimExpr(1, context), context);
    SmallVector<AffineExpr> zeros(itemRank, getAffineConstantExpr(0, context));
    one = AffineMap::get(rank, 0, zeros, context);
  }
};

void describeClasses(ArrayRef<int64_t> shape, ClusterSpec &spec) {
  spec.domain.assign(shape.begin(), shape.end());
  spec.reduced.assign(shape.size(), false);
  spec.reduced[1] = true;
}

/// What forward and backward share at one (item, class): whether the class is the item's label, and the
/// item's weight (0 when it is ignored).
struct Item {
  Value isLabel, weight;
};

Item itemAt(ClusterBodyBuilder &body, Type type, Value label, Value classWeight,
            std::optional<uint64_t> ignored) {
  Value index = body.index(1), zero = body.constant(type, 0), one = body.constant(type, 1);
  Value label64 = body.cast(label, index.getType());
  Item item;
  item.isLabel = body.compare(Compare::EQ, index, label64);
  item.weight = one;
  if (classWeight)
    item.weight = body.sum(body.select(item.isLabel, body.cast(classWeight, type), zero));
  if (ignored) {
    Value skip = body.constantInt(index.getType(), static_cast<int64_t>(*ignored));
    item.weight = body.select(body.compare(Compare::EQ, label64, skip), zero, item.weight);
  }
  return item;
}

struct Softmax {
  Value max, exponential, sum;
};
Softmax softmaxOf(ClusterBodyBuilder &body, Value x) {
  Softmax s;
  s.max = body.max(x);
  s.exponential = body.exp(body.sub(x, s.max));
  s.sum = body.sum(s.exponential);
  return s;
}

LogicalResult checkNll(std::optional<Location> loc, Value scores, Value labels, Value weights) {
  ArrayRef<int64_t> shape = shapeOf(scores);
  if (shape.size() < 2)
    return emitOptionalError(loc, "scores need a batch and a class dim, found ", scores.getType());
  SmallVector<int64_t> items(shape);
  items.erase(items.begin() + 1);
  if (shapeOf(labels) != ArrayRef<int64_t>(items) || !isa<IntegerType>(elementOf(labels)))
    return emitOptionalError(loc, "labels ", labels.getType(), " do not fit scores ", scores.getType());
  if (weights && shapeOf(weights) != ArrayRef<int64_t>{shape[1]})
    return emitOptionalError(loc, "weights need ", shape[1], " elements, one a class, found ",
                             weights.getType());
  return success();
}
} // namespace

LogicalResult NllOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  if (failed(checkNll(loc, adaptor.getScores(), adaptor.getLabels(), adaptor.getWeights())))
    return failure();
  auto items = RankedTensorType::get(shapeOf(adaptor.getLabels()), elementOf(adaptor.getScores()));
  types.append({items, items});
  return success();
}

void NllOp::describeCluster(ClusterSpec &spec) {
  NllMaps maps(getContext(), rankOf(getScores()), 0);
  describeClasses(shapeOf(getScores()), spec);
  spec.inputMaps = {maps.scores, maps.items};
  if (getWeights())
    spec.inputMaps.push_back(maps.classes);
  spec.outputMaps = {maps.items, maps.items};
}

void NllOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars, SmallVectorImpl<Value> &results) {
  Value x = scalars[0];
  Item item = itemAt(body, x.getType(), scalars[1], getWeights() ? scalars[2] : Value(), getIgnoreIndex());
  Value zero = body.constant(x.getType(), 0);
  Value chosen = body.sum(body.select(item.isLabel, x, zero));
  if (getSoftmax()) {
    Softmax s = softmaxOf(body, x);
    chosen = body.sub(body.sub(chosen, s.max), body.log(s.sum));
  }
  // An ignored label may name no class: its loss is 0, not 0 times whatever stands there.
  Value loss = body.mul(item.weight, body.neg(chosen));
  Value counts = body.compare(Compare::NE, item.weight, zero);
  results.append({body.select(counts, loss, zero), item.weight});
}

void NllGradOp::describeCluster(ClusterSpec &spec) {
  bool perItem = shapeOf(getDLosses()) == shapeOf(getLabels());
  NllMaps maps(getContext(), rankOf(getScores()), rankOf(getDLosses()));
  describeClasses(shapeOf(getScores()), spec);
  spec.inputMaps = {perItem ? maps.items : maps.one, maps.scores, maps.items};
  if (getWeights())
    spec.inputMaps.push_back(maps.classes);
  spec.outputMaps = {maps.scores};
}

void NllGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                 SmallVectorImpl<Value> &results) {
  Value x = scalars[1];
  Item item = itemAt(body, x.getType(), scalars[2], getWeights() ? scalars[3] : Value(), getIgnoreIndex());
  Value zero = body.constant(x.getType(), 0), one = body.constant(x.getType(), 1);
  Value target = body.select(item.isLabel, one, zero);
  Value slope = body.neg(target);
  if (getSoftmax()) {
    Softmax s = softmaxOf(body, x);
    slope = body.sub(body.div(s.exponential, s.sum), target);
  }
  Value grad = body.mul(body.mul(body.cast(scalars[0], x.getType()), item.weight), slope);
  Value counts = body.compare(Compare::NE, item.weight, zero);
  results.push_back(body.select(counts, grad, zero));
}
