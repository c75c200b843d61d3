#include "lib/Dialect/ONNX/ConvSharding.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"

using namespace mlir;

namespace kedge::onnx {

ConvLoops::ConvLoops(ShardingRule &rule, Value x, Value w, int64_t groups, Loop summed, bool isTransposed)
    : isGrouped(groups > 1), isTransposed(isTransposed) {
  rule.addLoop(shapeOf(x)[0], summed == Rows);
  rule.addLoop(isGrouped ? groups : shapeOf(w)[isTransposed ? 1 : 0], summed == Outputs && !isGrouped);
  if (!isGrouped)
    rule.addLoop(shapeOf(w)[isTransposed ? 0 : 1], summed == Inputs);
}

SmallVector<int> ConvLoops::dims(Value tensor, int first, int second) {
  SmallVector<int> dims(rankOf(tensor), ShardingRule::kWhole);
  dims[0] = first;
  dims[1] = second;
  return dims;
}

void setLocalGroups(LocalBuilder &local, Operation *made, int64_t groups) {
  if (groups > 1 && local.cut.loop == ConvLoops::Outputs)
    made->setAttr("group", local.builder.getI64IntegerAttr(local.cut.room(groups, local.ranks)));
}

ShardingRule windowRule(Operation *op) {
  ShardingRule rule;
  if (op->getNumResults() != 1)
    return rule;
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  const int rows = rule.addLoop(shape[0]), channels = rule.addLoop(shape[1]);
  SmallVector<int> dims(shape.size(), ShardingRule::kWhole);
  dims[0] = rows;
  dims[1] = channels;
  rule.operands.assign(op->getNumOperands(), dims);
  rule.results.push_back(dims);
  return rule;
}

namespace {

/// Of onnx.Conv and onnx.ConvTranspose.
template <typename OpType>
struct ConvSharding : ShardingOpInterface::ExternalModel<ConvSharding<OpType>, OpType> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto conv = cast<OpType>(op);
    ShardingRule rule;
    const ConvLoops loops(rule, conv.getX(), conv.getW(), conv.getGroup(), ConvLoops::Inputs,
                          std::is_same_v<OpType, ConvTransposeOp>);
    rule.operands = {loops.ofX(conv.getX()), loops.ofW(conv.getW())};
    if (conv.getB())
      rule.operands.push_back({ConvLoops::Outputs});
    rule.results = {loops.ofY(conv.getY())};
    return rule;
  }

  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    auto conv = cast<OpType>(op);
    const ShardingRule rule = shardingRule(op, local.ranks);
    if (rule.loops[local.cut.loop].reduced)
      return {sumOfInputs(conv, local, operands)};
    SmallVector<Value> own = cloneLocal(local, op, operands, rule);
    setLocalGroups(local, own[0].getDefiningOp(), conv.getGroup());
    return own;
  }

  /// What is added is added once: behind the sum over ranks.
  static Value sumOfInputs(OpType conv, LocalBuilder &local, ValueRange operands) {
    const Type element = elementOf(conv.getY()), wide = sumTypeOf(element);
    OperationState state(local.loc, conv->getName(), ValueRange{}, {}, conv->getAttrs());
    for (Value operand : operands.take_front(2))
      state.addOperands(local.cast(operand, wide));
    state.addTypes(tensorType(conv.getY()).clone(wide));
    Value product = local.builder.create(state)->getResult(0);
    if (!conv.getB())
      return local.sum(product, element);
    GradientBuilder math{local.builder, local.loc};
    SmallVector<int64_t> shape(rankOf(conv.getY()) - 1, 1);
    shape[0] = shapeOf(operands[2])[0];
    Value bias = ReshapeOp::create(local.builder, local.loc, operands[2], shape);
    Value added = local.addend(bias, product), sum = local.sum(product, wide);
    return math.cast(math.add(sum, math.cast(added, wide)), element);
  }
};

template <typename OpType>
struct WindowSharding : ShardingOpInterface::ExternalModel<WindowSharding<OpType>, OpType> {
  ShardingRule shardingRule(Operation *op, int64_t) const { return windowRule(op); }
};
} // namespace

void registerConvShardings(MLIRContext *context) {
  ConvOp::attachInterface<ConvSharding<ConvOp>>(*context);
  ConvTransposeOp::attachInterface<ConvSharding<ConvTransposeOp>>(*context);
  MaxPoolOp::attachInterface<WindowSharding<MaxPoolOp>>(*context);
  AveragePoolOp::attachInterface<WindowSharding<AveragePoolOp>>(*context);
}

} // namespace kedge::onnx
