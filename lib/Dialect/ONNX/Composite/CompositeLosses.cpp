// SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss as train.nll and sums.
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
LogicalResult inferLoss(std::optional<Location> loc, Value scores, Value labels, Value weights,
                        StringRef reduction, SmallVectorImpl<Type> &types) {
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return emitOptionalError(loc, "reduction is none, sum or mean, found ", reduction);
  SmallVector<int64_t> items(shapeOf(scores));
  if (items.size() < 2 || !isa<FloatType>(elementOf(scores)))
    return emitOptionalError(loc, "scores are ", scores.getType(), ", expected floats of [N, C, ...]");
  items.erase(items.begin() + 1);
  if (!isa<IntegerType>(elementOf(labels)) || elementOf(labels).isInteger(1) ||
      shapeOf(labels) != ArrayRef(items))
    return emitOptionalError(loc, "labels are ", labels.getType(), ", expected int32 or int64 of [", items,
                             "], the scores' shape without its classes");
  if (weights &&
      (shapeOf(weights) != ArrayRef(shapeOf(scores)[1]) || elementOf(weights) != elementOf(scores)))
    return emitOptionalError(loc, "weights are ", weights.getType(),
                             ", expected one of the scores' type for each of ", shapeOf(scores)[1],
                             " classes");
  SmallVector<int64_t> shape;
  if (reduction == "none")
    shape.assign(shapeOf(labels).begin(), shapeOf(labels).end());
  types.push_back(RankedTensorType::get(shape, elementOf(scores)));
  return success();
}

Value sumOfAll(OpBuilder &builder, Location loc, Value v) {
  return ReduceSumOp::create(builder, loc, v, llvm::to_vector(llvm::seq<int64_t>(0, rankOf(v))), false);
}

/// The loss as ONNX defines it: items, their sum, or their sum over the sum of their weights.
template <typename Op>
Value buildLoss(Op op, OpBuilder &builder, Value scores, Value labels, Value weights, bool softmax) {
  auto items = train::NllOp::create(builder, op.getLoc(), scores, labels, weights, op.getIgnoreIndexAttr(),
                                    builder.getBoolAttr(softmax));
  if (op.getReduction() == "none")
    return items.getLosses();
  Value total = sumOfAll(builder, op.getLoc(), items.getLosses());
  if (op.getReduction() == "sum")
    return total;
  return DivOp::create(builder, op.getLoc(), total, sumOfAll(builder, op.getLoc(), items.getItemWeights()));
}

template <typename Op>
Value buildLossGradient(Op op, OpBuilder &builder, Value dLoss, Value scores, Value labels, Value weights,
                        bool softmax) {
  if (op.getReduction() == "mean") {
    auto items = train::NllOp::create(builder, op.getLoc(), scores, labels, weights, op.getIgnoreIndexAttr(),
                                      builder.getBoolAttr(softmax));
    dLoss =
        DivOp::create(builder, op.getLoc(), dLoss, sumOfAll(builder, op.getLoc(), items.getItemWeights()));
  }
  return train::NllGradOp::create(builder, op.getLoc(), scores.getType(), dLoss, scores, labels, weights,
                                  op.getIgnoreIndexAttr(), builder.getBoolAttr(softmax));
}
} // namespace

LogicalResult SoftmaxCrossEntropyLossOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (failed(inferLoss(loc, adaptor.getScores(), adaptor.getLabels(), adaptor.getWeights(),
                       adaptor.getReduction(), types)))
    return failure();
  if (adaptor.getWithLogProb())
    types.push_back(adaptor.getScores().getType());
  return success();
}

LogicalResult SoftmaxCrossEntropyLossOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  results.push_back(buildLoss(*this, builder, getScores(), getLabels(), getWeights(), true));
  if (getWithLogProb())
    results.push_back(LogSoftmaxOp::create(builder, getLoc(), getScores(), 1));
  return success();
}

bool SoftmaxCrossEntropyLossOp::isDifferentiableOperand(unsigned index) { return index == 0; }

LogicalResult SoftmaxCrossEntropyLossOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                                       SmallVectorImpl<Value> &operandGrads) {
  Value dScores;
  if (resultGrads[0])
    dScores = buildLossGradient(*this, builder, resultGrads[0], getScores(), getLabels(), getWeights(), true);
  if (getWithLogProb() && resultGrads[1]) {
    auto logProb = LogSoftmaxOp::create(builder, getLoc(), getScores(), 1);
    SmallVector<Value> through;
    if (failed(logProb.buildGradient(builder, resultGrads[1], through)))
      return failure();
    dScores = dScores ? Value(AddOp::create(builder, getLoc(), dScores, through[0])) : through[0];
  }
  operandGrads.assign(getNumOperands(), Value());
  operandGrads[0] = dScores;
  return success();
}

LogicalResult NegativeLogLikelihoodLossOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferLoss(loc, adaptor.getInput(), adaptor.getTarget(), adaptor.getWeight(), adaptor.getReduction(),
                   types);
}

LogicalResult NegativeLogLikelihoodLossOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  results.push_back(buildLoss(*this, builder, getInput(), getTarget(), getWeight(), false));
  return success();
}

bool NegativeLogLikelihoodLossOp::isDifferentiableOperand(unsigned index) { return index == 0; }

LogicalResult NegativeLogLikelihoodLossOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                                         SmallVectorImpl<Value> &operandGrads) {
  operandGrads.assign(getNumOperands(), Value());
  operandGrads[0] =
      buildLossGradient(*this, builder, resultGrads[0], getInput(), getTarget(), getWeight(), false);
  return success();
}
