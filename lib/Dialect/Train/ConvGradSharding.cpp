// Gradients of convolutions and windows are cut as these are.
#include "lib/Dialect/ONNX/ConvSharding.h"
#include "lib/Dialect/Train/Gradient/GradientOps.h"
#include "lib/Dialect/Train/Sharding.h"

using namespace mlir;

namespace kedge::train {
namespace {

using onnx::ConvLoops;

template <typename Self, typename OpType>
struct ConvGradSharding : ShardingOpInterface::ExternalModel<Self, OpType> {
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    const ShardingRule rule = static_cast<const Self *>(this)->shardingRule(op, local.ranks);
    SmallVector<Value> results = cloneLocal(local, op, operands, rule);
    if (!rule.loops[local.cut.loop].reduced)
      onnx::setLocalGroups(local, results[0].getDefiningOp(), cast<OpType>(op).getGroup());
    return results;
  }
};

struct InputSharding : ConvGradSharding<InputSharding, ConvGradInputOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto grad = cast<ConvGradInputOp>(op);
    Value dY = grad.getFirst(), w = grad.getSecond();
    ShardingRule rule;
    const ConvLoops loops(rule, dY, w, grad.getGroup(), ConvLoops::Outputs);
    rule.operands = {loops.ofY(dY), loops.ofW(w)};
    rule.results = {loops.ofX(grad.getResult())};
    return rule;
  }
};

struct WeightSharding : ConvGradSharding<WeightSharding, ConvGradWeightOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto grad = cast<ConvGradWeightOp>(op);
    Value x = grad.getFirst(), dY = grad.getSecond();
    ShardingRule rule;
    const ConvLoops loops(rule, x, grad.getResult(), grad.getGroup(), ConvLoops::Rows);
    rule.operands = {loops.ofX(x), loops.ofY(dY)};
    rule.results = {loops.ofW(grad.getResult())};
    return rule;
  }
};

template <typename OpType>
struct WindowSharding : ShardingOpInterface::ExternalModel<WindowSharding<OpType>, OpType> {
  ShardingRule shardingRule(Operation *op, int64_t) const { return onnx::windowRule(op); }
};
} // namespace

void registerConvGradShardings(MLIRContext *context) {
  ConvGradInputOp::attachInterface<InputSharding>(*context);
  ConvGradWeightOp::attachInterface<WeightSharding>(*context);
  MaxPoolGradOp::attachInterface<WindowSharding<MaxPoolGradOp>>(*context);
  AveragePoolGradOp::attachInterface<WindowSharding<AveragePoolGradOp>>(*context);
}

} // namespace kedge::train
