// Gradients of convolutions and windows are cut as these are.
#include "kedge/Dialect/Train/Gradient/GradientOps.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "lib/Dialect/ONNX/ConvSharding.h"
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

template <typename OpType>
constexpr bool isTransposed =
    std::is_same_v<OpType, ConvTransposeGradInputOp> || std::is_same_v<OpType, ConvTransposeGradWeightOp>;

template <typename OpType> struct InputSharding : ConvGradSharding<InputSharding<OpType>, OpType> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto grad = cast<OpType>(op);
    Value dY = grad.getFirst(), w = grad.getSecond();
    ShardingRule rule;
    const ConvLoops loops(rule, dY, w, grad.getGroup(), ConvLoops::Outputs, isTransposed<OpType>);
    rule.operands = {loops.ofY(dY), loops.ofW(w)};
    rule.results = {loops.ofX(grad.getResult())};
    return rule;
  }
};

template <typename OpType> struct WeightSharding : ConvGradSharding<WeightSharding<OpType>, OpType> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto grad = cast<OpType>(op);
    Value x = grad.getFirst(), dY = grad.getSecond();
    ShardingRule rule;
    const ConvLoops loops(rule, x, grad.getResult(), grad.getGroup(), ConvLoops::Rows, isTransposed<OpType>);
    rule.operands = {loops.ofX(x), loops.ofY(dY)};
    rule.results = {loops.ofW(grad.getResult())};
    return rule;
  }
};

struct ResizeGradSharding : ShardingOpInterface::ExternalModel<ResizeGradSharding, ResizeGradOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const { return onnx::resamplingRule(op); }
};

template <typename OpType>
struct WindowSharding : ShardingOpInterface::ExternalModel<WindowSharding<OpType>, OpType> {
  ShardingRule shardingRule(Operation *op, int64_t) const { return onnx::windowRule(op); }
};
} // namespace

void registerConvGradShardings(MLIRContext *context) {
  ConvGradInputOp::attachInterface<InputSharding<ConvGradInputOp>>(*context);
  ConvGradWeightOp::attachInterface<WeightSharding<ConvGradWeightOp>>(*context);
  ConvTransposeGradInputOp::attachInterface<InputSharding<ConvTransposeGradInputOp>>(*context);
  ConvTransposeGradWeightOp::attachInterface<WeightSharding<ConvTransposeGradWeightOp>>(*context);
  ResizeGradOp::attachInterface<ResizeGradSharding>(*context);
  MaxPoolGradOp::attachInterface<WindowSharding<MaxPoolGradOp>>(*context);
  AveragePoolGradOp::attachInterface<WindowSharding<AveragePoolGradOp>>(*context);
}

} // namespace kedge::train
