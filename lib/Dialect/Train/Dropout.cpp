// train.dropout and its gradient, which draws the same mask again.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "lib/Dialect/Train/RandomRows.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

template <typename Adaptor>
static LogicalResult inferDropout(std::optional<Location> location, Adaptor adaptor,
                                  SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getX().getType());
  return checkRows(location, tensorType(adaptor.getX()), adaptor.getBatchAxis(), adaptor.getRowSize());
}

/// Whether the element stays.
template <typename Op> static Value keeps(Op op, ClusterBodyBuilder &body, ValueRange scalars) {
  RandomRows rows{shapeOf(op.getX()), static_cast<int64_t>(op.getBatchAxis()),
                  static_cast<int64_t>(op.getRowSize())};
  auto [row, element] = rows.placeOf(body, scalars[3]);
  Value drawn = body.random(scalars[1], op.getOpId(), scalars[2], row, element);
  Value ratio = body.constant(drawn.getType(), op.getRatio().convertToDouble());
  return body.compare(ClusterBodyBuilder::Compare::GE, drawn, ratio);
}

template <typename Op> static Value scaled(Op op, ClusterBodyBuilder &body, Value x, Value kept) {
  double ratio = op.getRatio().convertToDouble();
  Value scale = body.constant(x.getType(), ratio < 1 ? 1 / (1 - ratio) : 0);
  return body.select(kept, body.mul(x, scale), body.constant(x.getType(), 0));
}

LogicalResult DropoutOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (failed(inferDropout(location, adaptor, types)))
    return failure();
  if (adaptor.getWithMask())
    types.push_back(RankedTensorType::get(shapeOf(adaptor.getX()), IntegerType::get(context, 1)));
  return success();
}

LogicalResult DropoutOp::verify() {
  if (getRatio().isNegative() || getRatio() > APFloat(1.0f))
    return emitOpError("has ratio ") << getRatio().convertToDouble() << ", expected one of [0, 1]";
  return success();
}

void DropoutOp::describeCluster(ClusterSpec &spec) { describeBroadcast(getOperation(), spec); }

void DropoutOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                 SmallVectorImpl<Value> &results) {
  Value kept = keeps(*this, body, scalars);
  results.push_back(scaled(*this, body, scalars[0], kept));
  if (getWithMask())
    results.push_back(kept);
}

LogicalResult DropoutOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       SmallVectorImpl<Value> &operandGrads) {
  operandGrads.resize(getNumOperands());
  if (resultGrads[0])
    operandGrads[0] =
        DropoutGradOp::create(builder, getLoc(), resultGrads[0], getSeed(), getStep(), getRowBase(),
                              getRatioAttr(), getOpIdAttr(), getBatchAxisAttr(), getRowSizeAttr());
  return success();
}

bool DropoutOp::isDifferentiableOperand(unsigned index) { return index == 0; }

LogicalResult DropoutGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferDropout(location, adaptor, types);
}

void DropoutGradOp::describeCluster(ClusterSpec &spec) { describeBroadcast(getOperation(), spec); }

void DropoutGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                     SmallVectorImpl<Value> &results) {
  results.push_back(scaled(*this, body, scalars[0], keeps(*this, body, scalars)));
}
