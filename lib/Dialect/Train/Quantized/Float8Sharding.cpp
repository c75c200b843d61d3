// How products of 8-bit floats and their scales are cut over ranks: a tensor has one scale, whichever ranks
// have its blocks.
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Quantized/Float8Ops.h"
#include "kedge/Interfaces/ShardingOpInterface.h"
#include "lib/Dialect/ONNX/Sharding.h"
#include "lib/Dialect/Train/Sharding.h"

using namespace mlir;

namespace kedge::train {
namespace {

/// A loop for each dim.
SmallVector<int> addLoops(ShardingRule &rule, Value value) {
  SmallVector<int> dims;
  for (int64_t size : shapeOf(value))
    dims.push_back(rule.addLoop(size));
  return dims;
}

struct RowMaximaSharding : ShardingOpInterface::ExternalModel<RowMaximaSharding, RowMaximaOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    ShardingRule rule;
    SmallVector<int> dims = addLoops(rule, cast<RowMaximaOp>(op).getX());
    rule.loops.back().reduced = rule.loops.back().isExact = true;
    rule.operands = {dims};
    rule.results = {SmallVector<int>(ArrayRef(dims).drop_back())};
    return rule;
  }

  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    const ShardingRule rule = shardingRule(op, local.ranks);
    if (!rule.loops[local.cut.loop].reduced)
      return cloneLocal(local, op, operands);
    return {local.maximumOverRanks(RowMaximaOp::create(local.builder, local.loc, operands[0]))};
  }
};

struct Float8ScaleSharding : ShardingOpInterface::ExternalModel<Float8ScaleSharding, Float8ScaleOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    ShardingRule rule;
    rule.operands = {addLoops(rule, cast<Float8ScaleOp>(op).getMaxima())};
    for (ShardingLoop &loop : rule.loops)
      loop.reduced = loop.isExact = true;
    rule.results = {{}, {}};
    return rule;
  }

  /// The largest of all ranks' rows.
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    auto scale = cast<Float8ScaleOp>(op);
    const SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(rankOf(operands[0])));
    Value largest = onnx::ReduceMaxOp::create(local.builder, local.loc, operands[0], dims, false);
    auto made =
        Float8ScaleOp::create(local.builder, local.loc, local.maximumOverRanks(largest), scale.getToAttr());
    return {made.getScale(), made.getInverse()};
  }
};

struct ScaledProductSharding : ShardingOpInterface::ExternalModel<ScaledProductSharding, ScaledProductOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto product = cast<ScaledProductOp>(op);
    ShardingRule rule = onnx::productRule(product.getA(), product.getB(), product.getY(), product.getTransA(),
                                          product.getTransB(), true);
    if (rule.loops.empty())
      return rule;
    rule.operands.append({{}, {}});
    if (product.getC())
      rule.operands.push_back(onnx::broadcastDims(product.getC(), product.getY(), rule.results[0]));
    return rule;
  }

  /// Parts of sums are of f32; what is added is added once, to their sum.
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    auto product = cast<ScaledProductOp>(op);
    if (!shardingRule(op, local.ranks).loops[local.cut.loop].reduced)
      return cloneLocal(local, op, operands);
    OpBuilder &b = local.builder;
    const Type element = elementOf(product.getY()), single = b.getF32Type();
    Value part = ScaledProductOp::create(b, local.loc, tensorType(product.getY()).clone(single), operands[0],
                                         operands[1], operands[2], operands[3], Value(), product.getTransA(),
                                         product.getTransB(), product.getAlpha(), APFloat(1.0f));
    if (!product.getC())
      return {local.sum(part, element)};
    GradientBuilder math{b, local.loc};
    Value added = math.cast(local.addend(operands[4], part), single), sum = local.sum(part, single);
    return {math.cast(math.add(sum, math.scale(added, product.getBeta().convertToFloat())), element)};
  }
};

} // namespace

void registerFloat8Shardings(MLIRContext *context) {
  RowMaximaOp::attachInterface<RowMaximaSharding>(*context);
  Float8ScaleOp::attachInterface<Float8ScaleSharding>(*context);
  ScaledProductOp::attachInterface<ScaledProductSharding>(*context);
}

} // namespace kedge::train
