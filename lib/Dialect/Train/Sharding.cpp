#include "lib/Dialect/Train/Sharding.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/Dialect/Train/EpilogueOps.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "kedge/Interfaces/ShardingOpInterface.h"
#include "lib/Dialect/ONNX/ShardedGather.h"
#include "lib/Dialect/ONNX/Sharding.h"

using namespace mlir;

namespace kedge::train {
namespace {

using Dims = SmallVector<int>;
constexpr int kWhole = ShardingRule::kWhole;

Dims wholeDims(Value value) { return Dims(rankOf(value), kWhole); }

/// Loop 0: heads, in groups that share a key head.
Dims headDims(AttentionLayout layout) {
  return layout == AttentionLayout::BTHD ? Dims{kWhole, kWhole, 0, kWhole} : Dims{kWhole, 0, kWhole, kWhole};
}

Dims maskDims(Value mask, Value scores) {
  Dims dims = wholeDims(mask);
  if (dims.size() >= 3 && shapeOf(mask)[dims.size() - 3] == shapeOf(scores)[1])
    dims[dims.size() - 3] = 0;
  return dims;
}

int64_t headAxis(AttentionLayout layout) { return layout == AttentionLayout::BTHD ? 2 : 1; }

/// Fewer key heads than ranks, which share them evenly: each rank has all of them and reads one, that of its
/// query heads.
template <typename OpType> bool sharesKeyHeads(OpType op, int64_t ranks) {
  const int64_t keyHeads = shapeOf(op.getK())[headAxis(op.getKLayout())];
  return keyHeads < ranks && ranks % keyHeads == 0 &&
         shapeOf(op.getQ())[headAxis(op.getQLayout())] % ranks == 0;
}

/// Dims of K or V.
template <typename OpType> Dims keyDims(OpType op, AttentionLayout layout, int64_t ranks) {
  return sharesKeyHeads(op, ranks) ? Dims(4, kWhole) : headDims(layout);
}

/// Dropout counts elements of all heads: such an op stays whole.
template <typename OpType> ShardingRule headRule(OpType op, int64_t ranks) {
  ShardingRule rule;
  if (op.getRatio().convertToFloat() != 0 || !op.getRandom().empty() || rankOf(op.getQ()) != 4)
    return rule;
  if (sharesKeyHeads(op, ranks))
    rule.addLoop(shapeOf(op.getQ())[headAxis(op.getQLayout())]);
  else
    rule.addLoop(shapeOf(op.getK())[headAxis(op.getKLayout())]);
  return rule;
}

/// Of the key head that a rank reads: `count` heads, `ranks / count` neighbours read one of them.
Value ownKeyHead(LocalBuilder &local, int64_t count) {
  OpBuilder &b = local.builder;
  Value rank = local.offset(1);
  return onnx::DivOp::create(b, local.loc, rank, onnx::number(local, b.getI64Type(), local.ranks / count));
}

/// The key head `head` alone.
Value keyHeadOf(LocalBuilder &local, Value heads, AttentionLayout layout, Value head) {
  return onnx::GatherOp::create(local.builder, local.loc, heads, head,
                                local.builder.getI64IntegerAttr(headAxis(layout)), IntegerAttr());
}

struct AttentionSharding : ShardingOpInterface::ExternalModel<AttentionSharding, AttentionOp> {
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    auto attention = cast<AttentionOp>(op);
    SmallVector<Value> own(operands);
    if (sharesKeyHeads(attention, local.ranks)) {
      Value head = ownKeyHead(local, shapeOf(operands[1])[headAxis(attention.getKLayout())]);
      own[1] = keyHeadOf(local, operands[1], attention.getKLayout(), head);
      own[2] = keyHeadOf(local, operands[2], attention.getVLayout(), head);
    }
    return cloneLocal(local, op, own);
  }

  ShardingRule shardingRule(Operation *op, int64_t ranks) const {
    auto attention = cast<AttentionOp>(op);
    ShardingRule rule = headRule(attention, ranks);
    rule.operands = {headDims(attention.getQLayout()), keyDims(attention, attention.getKLayout(), ranks),
                     keyDims(attention, attention.getVLayout(), ranks)};
    if (attention.getMask())
      rule.operands.push_back(maskDims(attention.getMask(), attention.getLSE()));
    if (attention.getDocuments())
      rule.operands.push_back(wholeDims(attention.getDocuments()));
    if (attention.getPlaces())
      rule.operands.push_back(wholeDims(attention.getPlaces()));
    if (attention.getSinks())
      rule.operands.push_back({0});
    rule.results = {headDims(attention.getOLayout()), {kWhole, 0, kWhole}};
    return rule;
  }
};

struct AttentionGradSharding : ShardingOpInterface::ExternalModel<AttentionGradSharding, AttentionGradOp> {
  /// A key head's gradient is the sum over the ranks that read it.
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    auto grad = cast<AttentionGradOp>(op);
    if (!sharesKeyHeads(grad, local.ranks))
      return cloneLocal(local, op, operands);
    OpBuilder &b = local.builder;
    const int64_t heads = shapeOf(grad.getK())[headAxis(grad.getKLayout())];
    Value head = ownKeyHead(local, heads);
    SmallVector<Value> own(operands);
    own[2] = keyHeadOf(local, operands[2], grad.getKLayout(), head);
    own[3] = keyHeadOf(local, operands[3], grad.getVLayout(), head);
    OperationState state(local.loc, op->getName(), own, {}, op->getAttrs());
    state.addTypes({blockOf(grad.getDQ().getType(),
                            {static_cast<int>(headAxis(grad.getQLayout())), local.cut}, local.ranks),
                    own[2].getType(), own[3].getType()});
    Operation *made = b.create(state);
    return {made->getResult(0), sumOfHeads(local, made->getResult(1), grad.getKLayout(), head, heads),
            sumOfHeads(local, made->getResult(2), grad.getVLayout(), head, heads)};
  }

  /// `own` is the gradient of one of so many heads.
  static Value sumOfHeads(LocalBuilder &local, Value own, AttentionLayout layout, Value head, int64_t heads) {
    OpBuilder &b = local.builder;
    SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(heads)), shape(4, 1);
    shape[headAxis(layout)] = heads;
    auto type = RankedTensorType::get(shape, b.getI64Type());
    Value all =
        onnx::ConstantOp::create(b, local.loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
    Value isOwn = onnx::EqualOp::create(b, local.loc, all, head);
    const Type element = elementOf(own);
    return local.sum(onnx::orZero(local, isOwn, local.cast(own, sumTypeOf(element))), element);
  }

  ShardingRule shardingRule(Operation *op, int64_t ranks) const {
    auto grad = cast<AttentionGradOp>(op);
    ShardingRule rule = headRule(grad, ranks);
    const Dims q = headDims(grad.getQLayout()), k = keyDims(grad, grad.getKLayout(), ranks),
               v = keyDims(grad, grad.getVLayout(), ranks), o = headDims(grad.getOLayout());
    rule.operands = {o, q, k, v, o, {kWhole, 0, kWhole}};
    if (grad.getMask())
      rule.operands.push_back(maskDims(grad.getMask(), grad.getLSE()));
    if (grad.getDocuments())
      rule.operands.push_back(wholeDims(grad.getDocuments()));
    if (grad.getPlaces())
      rule.operands.push_back(wholeDims(grad.getPlaces()));
    rule.results = {q, k, v};
    return rule;
  }
};

struct GatherGradSharding : ShardingOpInterface::ExternalModel<GatherGradSharding, GatherGradOp> {
  /// Loop 0 are the rows of the table; then its other dims.
  ShardingRule shardingRule(Operation *op, int64_t) const {
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
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    if (local.cut.loop != 0)
      return cloneLocal(local, op, operands);
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
    auto block = blockOf(grad.getDX().getType(), {static_cast<int>(grad.getAxis()), local.cut}, local.ranks);
    return {GatherGradOp::create(b, local.loc, onnx::orZero(local, counts, operands[0]), own.indices,
                                 grad.getAxisAttr(), IntegerAttr(),
                                 b.getDenseI64ArrayAttr(block.getShape()))};
  }
};

/// Loop 0: the rows of data, whose numbers key the random ones.
template <typename OpType>
struct DropoutSharding : ShardingOpInterface::ExternalModel<DropoutSharding<OpType>, OpType> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto dropout = cast<OpType>(op);
    const int64_t axis = dropout.getBatchAxis();
    ShardingRule rule;
    if (axis < 0)
      return rule;
    rule.addLoop(shapeOf(dropout.getX())[axis] / static_cast<int64_t>(dropout.getRowSize()));
    Dims dims = wholeDims(dropout.getX());
    dims[axis] = 0;
    rule.operands = {dims, {}, {}, {}};
    rule.results.assign(op->getNumResults(), dims);
    return rule;
  }

  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    OpBuilder &b = local.builder;
    Value before = local.offset(local.cut.room(shardingRule(op, local.ranks).loops[0].units, local.ranks));
    SmallVector<Value> own(operands);
    own[3] = onnx::AddOp::create(b, local.loc, operands[3],
                                 onnx::ReshapeOp::create(b, local.loc, before, ArrayRef<int64_t>{}));
    return cloneLocal(local, op, own);
  }
};

/// Rows and columns: runs of terms are added where they are.
struct SumProductsSharding : ShardingOpInterface::ExternalModel<SumProductsSharding, SumProductsOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto sum = cast<SumProductsOp>(op);
    ShardingRule rule =
        onnx::productRule(sum.getA(), sum.getB(), sum.getResult(), sum.getTransA(), sum.getTransB(), false);
    for (Dims &dims : rule.operands)
      llvm::replace(dims, static_cast<int>(rule.loops.size()) - 1, kWhole);
    return rule;
  }
};

struct SliceGradSharding : ShardingOpInterface::ExternalModel<SliceGradSharding, SliceGradOp> {
  /// Dims that the slice has all of.
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto grad = cast<SliceGradOp>(op);
    ShardingRule rule;
    Dims dims;
    for (auto [i, size] : llvm::enumerate(shapeOf(grad.getDX()))) {
      const bool isAll =
          grad.getStarts()[i] == 0 && grad.getSteps()[i] == 1 && shapeOf(grad.getDY())[i] == size;
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

/// Classes that are but padding have the lowest logit: no sum of exponentials has any of them.
template <typename OpType> Value withoutPadding(LocalBuilder &local, OpType op, Value logits) {
  const Layout layout = layoutOfOperand(op, classRule(op), local.cut, 0, local.ranks);
  const auto element = cast<FloatType>(elementOf(logits));
  const double lowest = APFloat::getLargest(element.getFloatSemantics(), /*Negative=*/true).convertToDouble();
  return local.padded(logits, layout, op.getLogits().getType(), lowest);
}

struct CrossEntropySharding : ShardingOpInterface::ExternalModel<CrossEntropySharding, CrossEntropyOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const { return classRule(cast<CrossEntropyOp>(op)); }

  /// Maxima, sums and the label's logit go over ranks, the logits do not.
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    auto loss = cast<CrossEntropyOp>(op);
    OpBuilder &b = local.builder;
    GradientBuilder math{b, local.loc};
    const int64_t axis = loss.getAxis();
    Value logits = withoutPadding(local, loss, math.cast(operands[0], elementOf(loss.getTop()))),
          labels = operands[1];
    SmallVector<int64_t> kept(shapeOf(logits));
    kept[axis] = 1;
    Value top = local.maximumOverRanks(
        onnx::ReduceMaxOp::create(b, local.loc, logits, ArrayRef<int64_t>{axis}, false));
    Value shifted = math.sub(logits, onnx::ReshapeOp::create(b, local.loc, top, kept));
    Value total = local.sumOverRanks(onnx::ReduceSumOp::create(
        b, local.loc, onnx::ExpOp::create(b, local.loc, shifted), ArrayRef<int64_t>{axis}, false));
    Value ignored = isIgnored(local, loss, labels);
    Value known =
        onnx::WhereOp::create(b, local.loc, ignored, onnx::number(local, elementOf(labels), 0), labels);
    const onnx::OwnIndices own(local, known, shapeOf(loss.getLogits())[axis]);
    Value found = onnx::GatherElementsOp::create(
        b, local.loc, logits, onnx::ReshapeOp::create(b, local.loc, own.indices, kept), axis);
    found = onnx::ReshapeOp::create(b, local.loc, found, shapeOf(labels));
    Value picked = local.sumOverRanks(onnx::orZero(local, own.isOwn, found));
    Value losses = math.add(math.sub(top, picked), onnx::LogOp::create(b, local.loc, total));
    return {onnx::orZero(local, onnx::NotOp::create(b, local.loc, ignored), losses), top, total};
  }
};

struct CrossEntropyGradSharding
    : ShardingOpInterface::ExternalModel<CrossEntropyGradSharding, CrossEntropyGradOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const { return classRule(cast<CrossEntropyGradOp>(op)); }

  /// Labels count from the rank's first class; kOther is none of its classes, kIgnored the ignored one.
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    constexpr int64_t kOther = -1, kIgnored = -2;
    auto grad = cast<CrossEntropyGradOp>(op);
    OpBuilder &b = local.builder;
    const Type i64 = b.getI64Type();
    Value ignored = isIgnored(local, grad, operands[1]);
    const onnx::OwnIndices own(local, operands[1], shapeOf(grad.getLogits())[grad.getAxis()]);
    Value label =
        onnx::WhereOp::create(b, local.loc, own.isOwn, own.indices, onnx::number(local, i64, kOther));
    label = onnx::WhereOp::create(b, local.loc, ignored, onnx::number(local, i64, kIgnored), label);
    Value logits = withoutPadding(local, grad, operands[0]);
    return {CrossEntropyGradOp::create(b, local.loc, logits, label, operands[2], operands[3], operands[4],
                                       grad.getAxisAttr(), b.getI64IntegerAttr(kIgnored),
                                       grad.getLabelSmoothingAttr())};
  }
};
} // namespace

void registerShardings(MLIRContext *context) {
  registerConvGradShardings(context);
  registerFloat8Shardings(context);
  AttentionOp::attachInterface<AttentionSharding>(*context);
  AttentionGradOp::attachInterface<AttentionGradSharding>(*context);
  GatherGradOp::attachInterface<GatherGradSharding>(*context);
  DropoutOp::attachInterface<DropoutSharding<DropoutOp>>(*context);
  DropoutGradOp::attachInterface<DropoutSharding<DropoutGradOp>>(*context);
  SumProductsOp::attachInterface<SumProductsSharding>(*context);
  SliceGradOp::attachInterface<SliceGradSharding>(*context);
  CrossEntropyOp::attachInterface<CrossEntropySharding>(*context);
  CrossEntropyGradOp::attachInterface<CrossEntropyGradSharding>(*context);
}

} // namespace kedge::train
