// Layer, root-mean-square, group, instance and (inference) batch normalisation.
#include "kedge/Dialect/ONNX/Composite/CompositeOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
/// X's type, then that of each of the `statistics` that a row has.
LogicalResult inferRowNorm(std::optional<Location> loc, Value x, Value scale, int64_t axis,
                           unsigned statistics, SmallVectorImpl<Type> &types) {
  auto type = tensorType(x);
  auto first = normalizeAxis(loc, axis, type.getRank());
  if (failed(first))
    return failure();
  auto broadcast = broadcastShapes(loc, {type.getShape(), shapeOf(scale)});
  if (failed(broadcast) || ArrayRef<int64_t>(*broadcast) != type.getShape())
    return emitOptionalError(loc, "scale ", scale.getType(), " does not broadcast to ", type);
  SmallVector<int64_t> shape(type.getShape());
  std::fill(shape.begin() + *first, shape.end(), 1);
  types.push_back(type);
  types.append(statistics, RankedTensorType::get(shape, statType(type.getElementType())));
  return success();
}

LogicalResult inferChannelNorm(std::optional<Location> loc, Value x, ValueRange perChannel, int64_t groups,
                               SmallVectorImpl<Type> &types) {
  auto type = tensorType(x);
  if (type.getRank() < 2 || groups <= 0 || type.getDimSize(1) % groups != 0)
    return emitOptionalError(loc, "cannot normalise ", type, " in ", groups, " groups of channels");
  for (Value v : perChannel)
    if (rankOf(v) != 1 || (shapeOf(v)[0] != type.getDimSize(1) && shapeOf(v)[0] != groups))
      return emitOptionalError(loc, "scale and bias need ", type.getDimSize(1),
                               " elements, one a channel, found ", v.getType());
  auto stat = RankedTensorType::get({type.getDimSize(0), groups}, statType(type.getElementType()));
  types.append({type, stat, stat});
  return success();
}

void describeNorm(const NormLayout &layout, unsigned params, unsigned statistics, ClusterSpec &spec) {
  layout.describe(spec);
  spec.inputMaps.push_back(layout.data);
  spec.inputMaps.append(params, layout.scale);
  spec.outputMaps.push_back(layout.data);
  spec.outputMaps.append(statistics, layout.stat);
}

/// Body of the norms with mean: X, scale, [bias] -> Y, mean, invstd.
template <typename Op>
void buildCentered(Op op, ClusterBodyBuilder &body, ValueRange scalars, SmallVectorImpl<Value> &results) {
  Normalized norm = normalize(body, scalars[0], op.normLayout().count(), op.getEpsilon().convertToDouble());
  Value bias = scalars.size() > 2 ? scalars[2] : Value();
  results.push_back(toResult(body, scaleAndShift(body, norm.value, scalars[1], bias), op.getY()));
  results.append({norm.mean, norm.invstd});
}

/// Gradients of X, scale, [bias]; the statistics themselves must not have one.
template <typename Op>
LogicalResult buildGradientOf(Op op, OpBuilder &builder, ValueRange resultGrads, Value bias, Value mean,
                              Value invstd, SmallVectorImpl<Value> &grads) {
  for (Value statistic : resultGrads.drop_front())
    if (statistic)
      return op.emitOpError("has no gradient through its mean and deviation results yet");
  if (!resultGrads[0])
    grads.assign(op->getNumOperands(), Value());
  else
    buildNormGradient(builder, op.getLoc(), op.normLayout(), resultGrads[0], op.getX(), op.getScale(), bias,
                      mean, invstd, grads);
  return success();
}
} // namespace

//===--- LayerNormalization -----------------------------------------------------------------------------===//

LogicalResult LayerNormalizationOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                     Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (adaptor.getB() && shapeOf(adaptor.getB()) != shapeOf(adaptor.getScale()))
    return emitOptionalError(loc, "scale ", adaptor.getScale().getType(), " and bias ",
                             adaptor.getB().getType(), " differ in shape");
  return inferRowNorm(loc, adaptor.getX(), adaptor.getScale(), adaptor.getAxis(), 2, types);
}
NormLayout LayerNormalizationOp::normLayout() {
  int64_t rank = rankOf(getX()), axis = (int64_t)getAxis() < 0 ? getAxis() + rank : getAxis();
  return rowLayout(getContext(), shapeOf(getX()), axis, shapeOf(getScale()));
}
void LayerNormalizationOp::describeCluster(ClusterSpec &spec) {
  describeNorm(normLayout(), getB() ? 2 : 1, 2, spec);
}
void LayerNormalizationOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                            SmallVectorImpl<Value> &results) {
  buildCentered(*this, body, scalars, results);
}
bool LayerNormalizationOp::isDifferentiableOperand(unsigned) { return true; }
LogicalResult LayerNormalizationOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                                  SmallVectorImpl<Value> &operandGrads) {
  return buildGradientOf(*this, builder, resultGrads, getB(), getMean(), getInvStdDev(), operandGrads);
}

//===--- RMSNormalization -------------------------------------------------------------------------------===//

LogicalResult RMSNormalizationOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                   Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferRowNorm(loc, adaptor.getX(), adaptor.getScale(), adaptor.getAxis(), 1, types);
}
NormLayout RMSNormalizationOp::normLayout() {
  int64_t rank = rankOf(getX()), axis = (int64_t)getAxis() < 0 ? getAxis() + rank : getAxis();
  return rowLayout(getContext(), shapeOf(getX()), axis, shapeOf(getScale()));
}
void RMSNormalizationOp::describeCluster(ClusterSpec &spec) { describeNorm(normLayout(), 1, 1, spec); }
void RMSNormalizationOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                          SmallVectorImpl<Value> &results) {
  Normalized norm =
      normalizeUncentered(body, scalars[0], normLayout().count(), getEpsilon().convertToDouble());
  results.push_back(toResult(body, scaleAndShift(body, norm.value, scalars[1], Value()), getY()));
  results.push_back(norm.invstd);
}
bool RMSNormalizationOp::isDifferentiableOperand(unsigned) { return true; }
LogicalResult RMSNormalizationOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                                SmallVectorImpl<Value> &operandGrads) {
  return buildGradientOf(*this, builder, resultGrads, Value(), Value(), getInvRms(), operandGrads);
}

//===--- GroupNormalization, InstanceNormalization ------------------------------------------------------===//

LogicalResult GroupNormalizationOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                     Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferChannelNorm(loc, adaptor.getX(), {adaptor.getScale(), adaptor.getB()}, adaptor.getNumGroups(),
                          types);
}
NormLayout GroupNormalizationOp::normLayout() {
  return groupLayout(getContext(), shapeOf(getX()), getNumGroups(), shapeOf(getScale())[0]);
}
void GroupNormalizationOp::describeCluster(ClusterSpec &spec) { describeNorm(normLayout(), 2, 2, spec); }
void GroupNormalizationOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                            SmallVectorImpl<Value> &results) {
  buildCentered(*this, body, scalars, results);
}
bool GroupNormalizationOp::isDifferentiableOperand(unsigned) { return true; }
LogicalResult GroupNormalizationOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                                  SmallVectorImpl<Value> &operandGrads) {
  return buildGradientOf(*this, builder, resultGrads, getB(), getMean(), getInvStdDev(), operandGrads);
}

LogicalResult InstanceNormalizationOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  int64_t channels = rankOf(adaptor.getX()) < 2 ? 0 : shapeOf(adaptor.getX())[1];
  return inferChannelNorm(loc, adaptor.getX(), {adaptor.getScale(), adaptor.getB()}, channels, types);
}
NormLayout InstanceNormalizationOp::normLayout() { return instanceLayout(getContext(), shapeOf(getX())); }
void InstanceNormalizationOp::describeCluster(ClusterSpec &spec) { describeNorm(normLayout(), 2, 2, spec); }
void InstanceNormalizationOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                               SmallVectorImpl<Value> &results) {
  buildCentered(*this, body, scalars, results);
}
bool InstanceNormalizationOp::isDifferentiableOperand(unsigned) { return true; }
LogicalResult InstanceNormalizationOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                                     SmallVectorImpl<Value> &operandGrads) {
  return buildGradientOf(*this, builder, resultGrads, getB(), getMean(), getInvStdDev(), operandGrads);
}
