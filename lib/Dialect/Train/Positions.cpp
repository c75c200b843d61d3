#include "lib/Dialect/Train/Positions.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "kedge/Interfaces/PositionOpInterface.h"

using namespace mlir;

namespace kedge::train {
namespace {

using Dims = SmallVector<int>;
constexpr int kWhole = ShardingRule::kWhole;

Dims wholeDims(Value value) { return Dims(rankOf(value), kWhole); }

int positionDim(AttentionLayout layout) { return layout == AttentionLayout::BTHD ? 1 : 2; }

/// Loop 0: queries.
Dims queryDims(AttentionLayout layout) {
  Dims dims(4, kWhole);
  dims[positionDim(layout)] = 0;
  return dims;
}

/// A mask that is alike for all queries is whole.
Dims maskDims(Value mask, int64_t queries) {
  Dims dims = wholeDims(mask);
  if (dims.size() >= 2 && shapeOf(mask)[dims.size() - 2] == queries)
    dims[dims.size() - 2] = 0;
  return dims;
}

/// Without a loop for what does not know the places of its queries: dropout, documents.
template <typename OpType> ShardingRule queryRule(OpType op) {
  ShardingRule rule;
  if (!op.getRandom().empty() || !op.getRatio().isZero() || op.getDocuments() || op.getPlaces())
    return rule;
  rule.addLoop(shapeOf(op.getLSE())[2], std::is_same_v<OpType, AttentionGradOp>);
  return rule;
}

/// The operands that follow: the mask where there is one, what is alike for all queries.
template <typename OpType> void addOthers(ShardingRule &rule, OpType op) {
  if (op.getMask())
    rule.operands.push_back(maskDims(op.getMask(), shapeOf(op.getLSE())[2]));
  for (Value other : op->getOperands().drop_front(rule.operands.size()))
    rule.operands.push_back(wholeDims(other));
}

template <typename OpType> bool hidesByPlace(OpType op) {
  return op.getVisible() && !op.getVisible()->isAll();
}

/// Where the queries of the rank are, which hide keys by their places.
template <typename OpType> SmallVector<Value> atPlaces(OpType op, LocalBuilder &local, ValueRange operands) {
  Value places = hidesByPlace(op) ? local.offset(shapeOf(op.getLSE())[2] / local.ranks) : Value();
  auto made = cast<OpType>(cloneOnPositions(local, op, operands).front().getDefiningOp());
  if (places)
    made.getPlacesMutable().assign(places);
  return SmallVector<Value>(made->getResults());
}

struct AttentionPositions : PositionOpInterface::ExternalModel<AttentionPositions, AttentionOp> {
  ShardingRule positionRule(Operation *op) const {
    auto attention = cast<AttentionOp>(op);
    ShardingRule rule = queryRule(attention);
    rule.operands = {queryDims(attention.getQLayout()), Dims(4, kWhole), Dims(4, kWhole)};
    addOthers(rule, attention);
    rule.results = {queryDims(attention.getOLayout()), {kWhole, kWhole, 0}};
    return rule;
  }

  SmallVector<Value> buildOnPositions(Operation *op, LocalBuilder &local, ValueRange operands) const {
    return atPlaces(cast<AttentionOp>(op), local, operands);
  }
};

/// The gradients of keys and values are sums over the queries.
struct AttentionGradPositions : PositionOpInterface::ExternalModel<AttentionGradPositions, AttentionGradOp> {
  ShardingRule positionRule(Operation *op) const {
    auto grad = cast<AttentionGradOp>(op);
    ShardingRule rule = queryRule(grad);
    const Dims o = queryDims(grad.getOLayout()), q = queryDims(grad.getQLayout()), keys(4, kWhole);
    rule.operands = {o, q, keys, keys, o, {kWhole, kWhole, 0}};
    addOthers(rule, grad);
    rule.results = {q, keys, keys};
    return rule;
  }

  SmallVector<Value> buildOnPositions(Operation *op, LocalBuilder &local, ValueRange operands) const {
    return atPlaces(cast<AttentionGradOp>(op), local, operands);
  }
};

/// A table's gradient is a sum over the indices.
struct GatherGradPositions : PositionOpInterface::ExternalModel<GatherGradPositions, GatherGradOp> {
  ShardingRule positionRule(Operation *op) const {
    auto grad = cast<GatherGradOp>(op);
    ShardingRule rule;
    Dims indices;
    for (int64_t size : shapeOf(grad.getIndices()))
      indices.push_back(rule.addLoop(size, /*reduced=*/true));
    Dims slices(grad.getAxis(), kWhole);
    slices.append(indices);
    slices.resize(rankOf(grad.getDY()), kWhole);
    rule.operands = {slices, indices};
    rule.results = {wholeDims(grad.getDX())};
    return rule;
  }
};

/// Loops: the items. `logits` have the classes between them.
template <typename OpType>
struct ItemPositions : PositionOpInterface::ExternalModel<ItemPositions<OpType>, OpType> {
  ShardingRule positionRule(Operation *op) const {
    auto loss = cast<OpType>(op);
    ShardingRule rule;
    Dims items;
    for (int64_t size : shapeOf(loss.getLabels()))
      items.push_back(rule.addLoop(size));
    Dims logits = items;
    logits.insert(logits.begin() + loss.getAxis(), kWhole);
    const auto dimsOf = [&](Value value) {
      return rankOf(value) == static_cast<int64_t>(logits.size())  ? logits
             : rankOf(value) == static_cast<int64_t>(items.size()) ? items
                                                                   : wholeDims(value);
    };
    for (Value operand : op->getOperands())
      rule.operands.push_back(dimsOf(operand));
    for (Value result : op->getResults())
      rule.results.push_back(dimsOf(result));
    return rule;
  }
};

} // namespace

void registerPositions(MLIRContext *context) {
  AttentionOp::attachInterface<AttentionPositions>(*context);
  AttentionGradOp::attachInterface<AttentionGradPositions>(*context);
  GatherGradOp::attachInterface<GatherGradPositions>(*context);
  CrossEntropyOp::attachInterface<ItemPositions<CrossEntropyOp>>(*context);
  CrossEntropyGradOp::attachInterface<ItemPositions<CrossEntropyGradOp>>(*context);
}

} // namespace kedge::train
