#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "lib/Dialect/ONNX/ConvSharding.h"

using namespace mlir;

namespace kedge::onnx {

/// Where a region of interest is cropped, a dimension may keep its size and change all the same.
ShardingRule resamplingRule(Operation *op) {
  ShardingRule rule;
  if (op->getAttrOfType<StringAttr>("coordinate_transformation_mode") == "tf_crop_and_resize")
    return rule;
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0)), to = shapeOf(op->getResult(0));
  auto scales = op->getAttrOfType<DenseF32ArrayAttr>("scales");
  SmallVector<int> dims;
  for (auto [dim, size] : llvm::enumerate(from)) {
    const bool keepsSize = size == to[dim] && (!scales || scales[dim] == 1.0F);
    dims.push_back(keepsSize ? rule.addLoop(size) : ShardingRule::kWhole);
  }
  rule.operands = {dims};
  rule.results = {dims};
  return rule;
}

namespace {

struct ResizeSharding : ShardingOpInterface::ExternalModel<ResizeSharding, ResizeOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const { return resamplingRule(op); }

  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    SmallVector<Value> own = cloneLocal(local, op, operands, resamplingRule(op));
    own[0].getDefiningOp<ResizeOp>().setSizes(shapeOf(own[0]));
    return own;
  }
};

struct GroupNormSharding : ShardingOpInterface::ExternalModel<GroupNormSharding, GroupNormalizationOp> {
  /// A block has whole groups, so that statistics are a rank's own.
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto norm = cast<GroupNormalizationOp>(op);
    ShardingRule rule;
    const int rows = rule.addLoop(shapeOf(norm.getX())[0]), groups = rule.addLoop(norm.getNumGroups());
    SmallVector<int> image(rankOf(norm.getX()), ShardingRule::kWhole);
    image[0] = rows;
    image[1] = groups;
    rule.operands = {image, {groups}, {groups}};
    rule.results = {image, {rows, groups}, {rows, groups}};
    return rule;
  }

  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    const ShardingRule rule = shardingRule(op, local.ranks);
    SmallVector<Value> own = cloneLocal(local, op, operands, rule);
    const int groups = rule.results[1][1];
    if (local.cut.loop == groups)
      own[0].getDefiningOp<GroupNormalizationOp>().setNumGroups(
          local.cut.room(rule.loops[groups].units, local.ranks));
    return own;
  }
};

} // namespace

void registerChannelShardings(MLIRContext *context) {
  ResizeOp::attachInterface<ResizeSharding>(*context);
  GroupNormalizationOp::attachInterface<GroupNormSharding>(*context);
}

} // namespace kedge::onnx
