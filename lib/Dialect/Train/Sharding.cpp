#include "lib/Dialect/Train/Sharding.h"
#include "lib/Dialect/ONNX/GradientBuilder.h"
#include "lib/Dialect/ONNX/Math/LogicOps.h"
#include "lib/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/ONNX/Movement/MovementOps.h"
#include "lib/Dialect/ONNX/Reduction/ReductionOps.h"
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Dialect/ONNX/ShardedGather.h"
#include "lib/Dialect/Train/Gradient/GradientOps.h"
#include "lib/Dialect/Train/Gradient/MovementGradientOps.h"
#include "lib/Dialect/Train/Loss/LossOps.h"
#include "lib/Interfaces/ShardingOpInterface.h"

using namespace mlir;

namespace kedge::train {
namespace {

using Dims = SmallVector<int>;
constexpr int kWhole = ShardingRule::kWhole;

Dims wholeDims(Value value) { return Dims(rankOf(value), kWhole); }

/// Loop 0: heads, in groups that share a key head.
Dims headDims(StringRef layout) {
  return layout == "bthd" ? Dims{kWhole, kWhole, 0, kWhole} : Dims{kWhole, 0, kWhole, kWhole};
}

Dims maskDims(Value mask, Value scores) {
  Dims dims = wholeDims(mask);
  if (dims.size() >= 3 && shapeOf(mask)[dims.size() - 3] == shapeOf(scores)[1])
    dims[dims.size() - 3] = 0;
  return dims;
}

/// Dropout counts elements of all heads: such an op stays whole.
template <typename OpType> ShardingRule headRule(OpType op) {
  ShardingRule rule;
  if (op.getRatio().convertToFloat() != 0 || !op.getRandom().empty() || rankOf(op.getQ()) != 4)
    return rule;
  rule.addLoop(shapeOf(op.getK())[op.getKLayout() == "bthd" ? 2 : 1]);
  return rule;
}

struct AttentionSharding : ShardingOpInterface::ExternalModel<AttentionSharding, AttentionOp> {
  ShardingRule shardingRule(Operation *op) const {
    auto attention = cast<AttentionOp>(op);
    ShardingRule rule = headRule(attention);
    rule.operands = {headDims(attention.getQLayout()), headDims(attention.getKLayout()),
                     headDims(attention.getVLayout())};
    if (attention.getMask())
      rule.operands.push_back(maskDims(attention.getMask(), attention.getLSE()));
    rule.results = {headDims(attention.getOLayout()), {kWhole, 0, kWhole}};
    return rule;
  }
};

struct AttentionGradSharding : ShardingOpInterface::ExternalModel<AttentionGradSharding, AttentionGradOp> {
  ShardingRule shardingRule(Operation *op) const {
    auto grad = cast<AttentionGradOp>(op);
    ShardingRule rule = headRule(grad);
    const Dims q = headDims(grad.getQLayout()), k = headDims(grad.getKLayout()),
               v = headDims(grad.getVLayout()), o = headDims(grad.getOLayout());
    rule.operands = {o, q, k, v, o, {kWhole, 0, kWhole}};
    if (grad.getMask())
      rule.operands.push_back(maskDims(grad.getMask(), grad.getLSE()));
    rule.results = {q, k, v};
    return rule;
  }
};

struct GatherGradSharding : ShardingOpInterface::ExternalModel<GatherGradSharding, GatherGradOp> {
  /// Loop 0 are the rows of the table; then its other dims.
  ShardingRule shardingRule(Operation *op) const {
    auto grad = cast<GatherGradOp>(op);
    ShardingRule rule;
    const int64_t axis = grad.getAxis();
    Dims table, indices = wholeDims(grad.getIndices()), slices;
    rule.addLoop(shapeOf(grad.getDX())[axis]);
    for (auto [i, size] : llvm::enumerate(shapeOf(grad.getDX())))
      table.push_back(static_cast<int64_t>(i) == axis ? 0 : rule.addLoop(size));
    slices.append(table.begin(), table.begin() + axis);
    slices.append(indices);
    slices.append(table.begin() + axis + 1, table.end());
    rule.operands = {slices, indices};
    rule.results = {table};
    return rule;
  }

  /// What belongs to other ranks' rows adds zeros to the first.
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands, int loop) const {
    if (loop != 0)
      return cloneLocal(local, op, operands, loop);
    auto grad = cast<GatherGradOp>(op);
    OpBuilder &b = local.builder;
    const int64_t rows = shapeOf(grad.getDX())[grad.getAxis()];
    const onnx::OwnIndices own(local, operands[1], rows);
    Value counts = own.isOwn;
    if (auto padding = grad.getPaddingIdx()) {
      Value pad = onnx::number(local, elementOf(operands[1]), *padding);
      Value isPad = onnx::EqualOp::create(b, local.loc, operands[1], pad);
      counts = onnx::AndOp::create(b, local.loc, counts, onnx::NotOp::create(b, local.loc, isPad));
    }
    counts = onnx::withTrailingDims(local, counts, rankOf(grad.getDX()) - grad.getAxis() - 1);
    auto block = blockOf(grad.getDX().getType(), static_cast<int>(grad.getAxis()), local.ranks);
    return {GatherGradOp::create(b, local.loc, onnx::orZero(local, counts, operands[0]), own.indices,
                                 grad.getAxisAttr(), IntegerAttr(),
                                 b.getDenseI64ArrayAttr(block.getShape()))};
  }
};

struct SliceGradSharding : ShardingOpInterface::ExternalModel<SliceGradSharding, SliceGradOp> {
  /// Dims that the slice has all of.
  ShardingRule shardingRule(Operation *op) const {
    auto grad = cast<SliceGradOp>(op);
    ShardingRule rule;
    Dims dims;
    for (auto [i, size] : llvm::enumerate(shapeOf(grad.getDX()))) {
      const bool isAll = grad.getStarts()[i] == 0 && grad.getSteps()[i] == 1 && shapeOf(grad.getDY())[i] == size;
      dims.push_back(isAll ? rule.addLoop(size) : kWhole);
    }
    rule.operands = {dims};
    rule.results = {dims};
    return rule;
  }
};

/// Loop 0: the classes. Smoothing spreads over all of them.
template <typename OpType> ShardingRule classRule(OpType op) {
  ShardingRule rule;
  if (op.getLabelSmoothing().convertToDouble() != 0)
    return rule;
  rule.addLoop(shapeOf(op.getLogits())[op.getAxis()]);
  Dims logits = wholeDims(op.getLogits());
  logits[op.getAxis()] = 0;
  rule.operands.push_back(logits);
  for (Value operand : op->getOperands().drop_front())
    rule.operands.push_back(wholeDims(operand));
  for (Value result : op->getResults())
    rule.results.push_back(rankOf(result) == rankOf(op.getLogits()) ? logits : wholeDims(result));
  return rule;
}

template <typename OpType> Value isIgnored(LocalBuilder &local, OpType op, Value labels) {
  return onnx::EqualOp::create(local.builder, local.loc, labels,
                               onnx::number(local, elementOf(labels), op.getIgnoreIndex()));
}

struct CrossEntropySharding : ShardingOpInterface::ExternalModel<CrossEntropySharding, CrossEntropyOp> {
  ShardingRule shardingRule(Operation *op) const { return classRule(cast<CrossEntropyOp>(op)); }

  /// Maxima, sums and the label's logit go over ranks, the logits do not.
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands, int) const {
    auto loss = cast<CrossEntropyOp>(op);
    OpBuilder &b = local.builder;
    GradientBuilder math{b, local.loc};
    const int64_t axis = loss.getAxis();
    Value logits = math.cast(operands[0], elementOf(loss.getTop())), labels = operands[1];
    SmallVector<int64_t> kept(shapeOf(logits));
    kept[axis] = 1;
    Value top = local.allReduce(
        onnx::ReduceMaxOp::create(b, local.loc, logits, ArrayRef<int64_t>{axis}, false), "max");
    Value shifted = math.sub(logits, onnx::ReshapeOp::create(b, local.loc, top, kept));
    Value total =
        local.allReduce(onnx::ReduceSumOp::create(b, local.loc, onnx::ExpOp::create(b, local.loc, shifted),
                                                  ArrayRef<int64_t>{axis}, false),
                        "sum");
    Value ignored = isIgnored(local, loss, labels);
    Value known =
        onnx::WhereOp::create(b, local.loc, ignored, onnx::number(local, elementOf(labels), 0), labels);
    const onnx::OwnIndices own(local, known, shapeOf(loss.getLogits())[axis]);
    Value found = onnx::GatherElementsOp::create(
        b, local.loc, logits, onnx::ReshapeOp::create(b, local.loc, own.indices, kept), axis);
    found = onnx::ReshapeOp::create(b, local.loc, found, shapeOf(labels));
    Value picked = local.allReduce(onnx::orZero(local, own.isOwn, found), "sum");
    Value losses = math.add(math.sub(top, picked), onnx::LogOp::create(b, local.loc, total));
    return {onnx::orZero(local, onnx::NotOp::create(b, local.loc, ignored), losses), top, total};
  }
};

struct CrossEntropyGradSharding
    : ShardingOpInterface::ExternalModel<CrossEntropyGradSharding, CrossEntropyGradOp> {
  ShardingRule shardingRule(Operation *op) const { return classRule(cast<CrossEntropyGradOp>(op)); }

  /// Labels count from the rank's first class; kOther is none of its classes, kIgnored the ignored one.
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands, int) const {
    constexpr int64_t kOther = -1, kIgnored = -2;
    auto grad = cast<CrossEntropyGradOp>(op);
    OpBuilder &b = local.builder;
    const Type i64 = b.getI64Type();
    Value ignored = isIgnored(local, grad, operands[1]);
    const onnx::OwnIndices own(local, operands[1], shapeOf(grad.getLogits())[grad.getAxis()]);
    Value label =
        onnx::WhereOp::create(b, local.loc, own.isOwn, own.indices, onnx::number(local, i64, kOther));
    label = onnx::WhereOp::create(b, local.loc, ignored, onnx::number(local, i64, kIgnored), label);
    return {CrossEntropyGradOp::create(b, local.loc, operands[0], label, operands[2], operands[3],
                                       operands[4], grad.getAxisAttr(), b.getI64IntegerAttr(kIgnored),
                                       grad.getLabelSmoothingAttr())};
  }
};
} // namespace

void registerShardings(MLIRContext *context) {
  AttentionOp::attachInterface<AttentionSharding>(*context);
  AttentionGradOp::attachInterface<AttentionGradSharding>(*context);
  GatherGradOp::attachInterface<GatherGradSharding>(*context);
  SliceGradOp::attachInterface<SliceGradSharding>(*context);
  CrossEntropyOp::attachInterface<CrossEntropySharding>(*context);
  CrossEntropyGradOp::attachInterface<CrossEntropyGradSharding>(*context);
}

} // namespace kedge::train
