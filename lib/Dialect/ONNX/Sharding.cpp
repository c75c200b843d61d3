#include "lib/Dialect/ONNX/Sharding.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Interfaces/ShardingOpInterface.h"
#include "lib/Dialect/ONNX/ConvSharding.h"
#include "lib/Dialect/ONNX/ShardedGather.h"
#include <numeric>

using namespace mlir;

namespace kedge::onnx {

using Dims = SmallVector<int>;

Dims broadcastDims(Value value, Value result, ArrayRef<int> loops) {
  Dims dims;
  const int64_t behind = rankOf(result) - rankOf(value);
  for (auto [i, size] : llvm::enumerate(shapeOf(value)))
    dims.push_back(size == shapeOf(result)[i + behind] ? loops[i + behind] : ShardingRule::kWhole);
  return dims;
}

ShardingRule productRule(Value a, Value b, Value y, bool transA, bool transB, bool batches) {
  ShardingRule rule;
  if (rankOf(a) < 2 || rankOf(b) < 2)
    return rule;
  Dims loops;
  for (int64_t size : shapeOf(y))
    loops.push_back(rule.addLoop(size));
  const int sum = rule.addLoop(shapeOf(a)[rankOf(a) - (transA ? 2 : 1)], true);
  Dims ofA, ofB;
  const int64_t rows = rankOf(y) - 2;
  for (int64_t i = 0; i < rankOf(a) - 2; ++i) {
    const int64_t at = i + rankOf(y) - rankOf(a);
    ofA.push_back(shapeOf(a)[i] == shapeOf(y)[at] ? loops[at] : ShardingRule::kWhole);
  }
  for (int64_t i = 0; batches && i < rankOf(b) - 2; ++i) {
    const int64_t at = i + rankOf(y) - rankOf(b);
    ofB.push_back(shapeOf(b)[i] == shapeOf(y)[at] ? loops[at] : ShardingRule::kWhole);
  }
  ofA.append({transA ? sum : loops[rows], transA ? loops[rows] : sum});
  ofB.append({transB ? loops.back() : sum, transB ? sum : loops.back()});
  rule.operands = {ofA, ofB};
  rule.results = {loops};
  return rule;
}

namespace {

/// A partial product: 16-bit matrices' is as wide as its sums, which are rounded behind the sum over ranks.
Value partialMatmul(LocalBuilder &local, Value a, Value b, bool transA, bool transB, APFloat alpha) {
  const Type element = sumTypeOf(elementOf(a));
  auto wide = element == elementOf(a) ? BoolAttr() : local.builder.getBoolAttr(true);
  return GemmOp::create(local.builder, local.loc, a, b, Value(), local.builder.getBoolAttr(transA),
                        local.builder.getBoolAttr(transB),
                        local.builder.getF32FloatAttr(alpha.convertToFloat()),
                        local.builder.getF32FloatAttr(1), wide);
}

struct MatMulSharding : ShardingOpInterface::ExternalModel<MatMulSharding, MatMulOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto product = cast<MatMulOp>(op);
    return productRule(product.getA(), product.getB(), product.getY(), product.getTransA(),
                       product.getTransB(), true);
  }

  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    auto product = cast<MatMulOp>(op);
    const Type element = elementOf(product.getY());
    const bool isGemm = rankOf(operands[1]) == 2 && (rankOf(operands[0]) == 2 || !product.getTransA());
    if (!isGemm || sumTypeOf(element) == element ||
        !shardingRule(op, local.ranks).loops[local.cut.loop].reduced)
      return cloneLocal(local, op, operands);
    return {local.sum(partialMatmul(local, operands[0], operands[1], product.getTransA(), product.getTransB(),
                                    APFloat(1.0f)),
                      element)};
  }
};

struct GemmSharding : ShardingOpInterface::ExternalModel<GemmSharding, GemmOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto gemm = cast<GemmOp>(op);
    ShardingRule rule =
        productRule(gemm.getA(), gemm.getB(), gemm.getY(), gemm.getTransA(), gemm.getTransB(), false);
    if (!rule.loops.empty() && gemm.getC())
      rule.operands.push_back(broadcastDims(gemm.getC(), gemm.getY(), rule.results[0]));
    return rule;
  }

  /// What is added is added once: behind the sum over ranks.
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    auto gemm = cast<GemmOp>(op);
    if (!shardingRule(op, local.ranks).loops[local.cut.loop].reduced)
      return cloneLocal(local, op, operands);
    Value product =
        partialMatmul(local, operands[0], operands[1], gemm.getTransA(), gemm.getTransB(), gemm.getAlpha());
    const Type element = elementOf(gemm.getY());
    if (!gemm.getC())
      return {local.sum(product, element)};
    GradientBuilder math{local.builder, local.loc};
    Value added = local.addend(operands[2], product), sum = local.sum(product, elementOf(product));
    if (gemm.getBeta().convertToFloat() != 1)
      added = math.scale(added, gemm.getBeta().convertToFloat());
    return {math.cast(math.add(sum, math.cast(added, elementOf(sum))), element)};
  }
};

/// Dims of size 1 belong to no group.
Dims withoutOnes(ArrayRef<int64_t> shape) {
  Dims dims;
  for (auto [i, size] : llvm::enumerate(shape))
    if (size != 1)
      dims.push_back(static_cast<int>(i));
  return dims;
}

struct ReshapeSharding : ShardingOpInterface::ExternalModel<ReshapeSharding, ReshapeOp> {
  /// Groups of dims with as many elements on both sides are cut along the outermost of each.
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto reshape = cast<ReshapeOp>(op);
    ArrayRef<int64_t> from = shapeOf(reshape.getData()), to = shapeOf(reshape.getReshaped());
    ShardingRule rule;
    rule.operands = {Dims(from.size(), ShardingRule::kWhole)};
    rule.results = {Dims(to.size(), ShardingRule::kWhole)};
    const Dims ins = withoutOnes(from), outs = withoutOnes(to);
    for (size_t i = 0, j = 0; i < ins.size() && j < outs.size();) {
      const int loop = rule.addLoop(std::gcd(from[ins[i]], to[outs[j]]));
      rule.operands[0][ins[i]] = rule.results[0][outs[j]] = loop;
      int64_t in = from[ins[i++]], out = to[outs[j++]];
      while (in != out)
        if (in < out)
          in *= from[ins[i++]];
        else
          out *= to[outs[j++]];
    }
    return rule;
  }
};

struct TransposeSharding : ShardingOpInterface::ExternalModel<TransposeSharding, TransposeOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto transpose = cast<TransposeOp>(op);
    ShardingRule rule;
    Dims from, to;
    for (int64_t size : shapeOf(transpose.getData()))
      from.push_back(rule.addLoop(size));
    for (int64_t dim : transpose.getPerm())
      to.push_back(from[dim]);
    rule.operands = {from};
    rule.results = {to};
    return rule;
  }
};

/// A dim that several tensors make in a row, each cut by itself; the others are alike.
ShardingRule rowRule(Value whole, ValueRange parts, int64_t axis, ShardingLoop::Sections of) {
  ShardingRule rule;
  Dims dims;
  for (int64_t size : shapeOf(whole))
    dims.push_back(rule.addLoop(size));
  for (Value part : parts)
    rule.loops[axis].sections.push_back(shapeOf(part)[axis]);
  rule.loops[axis].of = of;
  (of == ShardingLoop::Sections::OfOperands ? rule.operands : rule.results).push_back(dims);
  (of == ShardingLoop::Sections::OfOperands ? rule.results : rule.operands).assign(parts.size(), dims);
  return rule;
}

struct SplitSharding : ShardingOpInterface::ExternalModel<SplitSharding, SplitOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto split = cast<SplitOp>(op);
    return rowRule(split.getInput(), split.getOutputs(), split.getAxis(), ShardingLoop::Sections::OfOperands);
  }
};

struct ConcatSharding : ShardingOpInterface::ExternalModel<ConcatSharding, ConcatOp> {
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto concat = cast<ConcatOp>(op);
    return rowRule(concat.getConcatResult(), concat.getInputs(), concat.getAxis(),
                   ShardingLoop::Sections::OfResults);
  }
};

struct GatherSharding : ShardingOpInterface::ExternalModel<GatherSharding, GatherOp> {
  /// Loop 0 are the rows of the table; then its other dims.
  ShardingRule shardingRule(Operation *op, int64_t) const {
    auto gather = cast<GatherOp>(op);
    ShardingRule rule;
    const int64_t axis = gather.getAxis();
    rule.addLoop(shapeOf(gather.getData())[axis], true);
    rule.loops[0].isExact = true;
    Dims data, indices(rankOf(gather.getIndices()), ShardingRule::kWhole), result;
    for (auto [i, size] : llvm::enumerate(shapeOf(gather.getData())))
      data.push_back(static_cast<int64_t>(i) == axis ? 0 : rule.addLoop(size));
    result.append(data.begin(), data.begin() + axis);
    result.append(indices);
    result.append(data.begin() + axis + 1, data.end());
    rule.operands = {data, indices};
    rule.results = {result};
    return rule;
  }

  /// Each row comes from the rank that has it; zeros of the others are added.
  SmallVector<Value> buildLocal(Operation *op, LocalBuilder &local, ValueRange operands) const {
    if (local.cut.loop != 0)
      return cloneLocal(local, op, operands);
    auto gather = cast<GatherOp>(op);
    const OwnIndices own(local, operands[1], shapeOf(gather.getData())[gather.getAxis()]);
    Value rows = GatherOp::create(local.builder, local.loc, operands[0], own.indices, gather.getAxisAttr(),
                                  IntegerAttr());
    Value isOwn = withTrailingDims(local, own.isOwn, rankOf(gather.getData()) - gather.getAxis() - 1);
    return {local.sum(orZero(local, isOwn, rows), elementOf(rows))};
  }
};
} // namespace

void registerShardings(MLIRContext *context) {
  registerConvShardings(context);
  registerChannelShardings(context);
  MatMulOp::attachInterface<MatMulSharding>(*context);
  GemmOp::attachInterface<GemmSharding>(*context);
  ReshapeOp::attachInterface<ReshapeSharding>(*context);
  TransposeOp::attachInterface<TransposeSharding>(*context);
  SplitOp::attachInterface<SplitSharding>(*context);
  ConcatOp::attachInterface<ConcatSharding>(*context);
  GatherOp::attachInterface<GatherSharding>(*context);
}

} // namespace kedge::onnx
