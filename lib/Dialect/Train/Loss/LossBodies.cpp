// Shapes, loop nests and gradients of the losses.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
Type statisticsType(Type element) { return bodyType(element); }

RankedTensorType withoutAxis(RankedTensorType logits, int64_t axis) {
  SmallVector<int64_t> shape(logits.getShape());
  shape.erase(shape.begin() + axis);
  return RankedTensorType::get(shape, statisticsType(logits.getElementType()));
}

/// Domain: the logits' shape, classes reduced or not; `items` tensors have no class axis.
void describeClasses(MLIRContext *context, RankedTensorType logits, int64_t axis, bool reduces,
                     unsigned items, ClusterSpec &spec) {
  unsigned rank = logits.getRank();
  spec.domain.assign(logits.getShape().begin(), logits.getShape().end());
  spec.reduced.assign(rank, false);
  spec.reduced[axis] = reduces;
  spec.inputMaps.push_back(AffineMap::getMultiDimIdentityMap(rank, context));
  AffineMap item = spec.inputMaps[0].dropResult(axis);
  spec.inputMaps.append(items, item);
}
} // namespace

LogicalResult CrossEntropyOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType logits = tensorType(adaptor.getLogits());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= logits.getRank())
    return emitOptionalError(location, "class axis ", axis, " is out of range for logits ", logits);
  RankedTensorType items = withoutAxis(logits, axis);
  if (items.getShape() != shapeOf(adaptor.getLabels()))
    return emitOptionalError(location, "labels have shape [", shapeOf(adaptor.getLabels()), "], expected [",
                             items.getShape(), "]: the logits' shape without class axis ", axis);
  types.append(3, items);
  return success();
}

void CrossEntropyOp::describeCluster(ClusterSpec &spec) {
  describeClasses(getContext(), tensorType(getLogits()), getAxis(), true, 1, spec);
  spec.outputMaps.append(3, spec.inputMaps[1]);
}

void CrossEntropyOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value x = v[0], label = b.cast(v[1], b.builder.getI64Type());
  Type type = x.getType();
  double classes = shapeOf(getLogits())[getAxis()], smoothing = getLabelSmoothing().convertToDouble();
  Value zero = b.constant(type, 0);
  Value top = b.max(x);
  Value total = b.sum(b.exp(b.sub(x, top))), logTotal = b.log(total);
  Value isClass = b.compare(ClusterBodyBuilder::Compare::EQ, b.index(getAxis()), label);
  Value loss = b.add(b.sub(top, b.sum(b.select(isClass, x, zero))), logTotal);
  if (smoothing != 0) {
    Value broadcast = b.add(b.sub(top, b.div(b.sum(x), b.constant(type, classes))), logTotal);
    loss = b.add(b.mul(b.constant(type, 1 - smoothing), loss), b.mul(b.constant(type, smoothing), broadcast));
  }
  Value ignored =
      b.compare(ClusterBodyBuilder::Compare::EQ, label, b.constantInt(label.getType(), getIgnoreIndex()));
  results.push_back(b.select(ignored, zero, loss));
  results.push_back(top);
  results.push_back(total);
}

bool CrossEntropyOp::isDifferentiableOperand(unsigned index) { return index == 0; }

LogicalResult CrossEntropyOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                            SmallVectorImpl<Value> &grads) {
  grads.push_back(CrossEntropyGradOp::create(builder, getLoc(), getLogits(), getLabels(), getTop(),
                                             getTotal(), resultGrads[0], getAxisAttr(), getIgnoreIndexAttr(),
                                             getLabelSmoothingAttr()));
  grads.push_back({});
  return success();
}

LogicalResult CrossEntropyGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                   SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getLogits().getType());
  return success();
}

void CrossEntropyGradOp::describeCluster(ClusterSpec &spec) {
  describeClasses(getContext(), tensorType(getLogits()), getAxis(), false, 4, spec);
  spec.outputMaps.push_back(spec.inputMaps[0]);
}

void CrossEntropyGradOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v,
                                          SmallVectorImpl<Value> &results) {
  Value x = v[0], label = b.cast(v[1], b.builder.getI64Type()), top = v[2], total = v[3], grad = v[4];
  Type type = x.getType();
  double classes = shapeOf(getLogits())[getAxis()], smoothing = getLabelSmoothing().convertToDouble();
  Value zero = b.constant(type, 0);
  Value isClass = b.compare(ClusterBodyBuilder::Compare::EQ, b.index(getAxis()), label);
  Value target = b.select(isClass, b.constant(type, 1 - smoothing + smoothing / classes),
                          b.constant(type, smoothing / classes));
  Value share = b.div(b.constant(type, 1), total); // of an item, once
  Value result = b.mul(b.sub(b.mul(b.exp(b.sub(x, top)), share), target), grad);
  Value ignored =
      b.compare(ClusterBodyBuilder::Compare::EQ, label, b.constantInt(label.getType(), getIgnoreIndex()));
  results.push_back(b.select(ignored, zero, result));
}

LogicalResult BCEWithLogitsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferBroadcast(location, adaptor.getOperands(), types,
                        statisticsType(elementOf(adaptor.getLogits())));
}

void BCEWithLogitsOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Value x = v[0], y = v[1];
  Value tail = b.log1p(b.exp(b.neg(b.abs(x))));
  results.push_back(b.add(b.sub(b.maximum(x, b.constant(x.getType(), 0)), b.mul(x, y)), tail));
}

bool BCEWithLogitsOp::isDifferentiableOperand(unsigned index) { return index == 0; }

LogicalResult BCEWithLogitsOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                             SmallVectorImpl<Value> &grads) {
  grads.push_back(BCEWithLogitsGradOp::create(builder, getLoc(), getLogits(), getLabels(), resultGrads[0]));
  grads.push_back({});
  return success();
}

LogicalResult BCEWithLogitsGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                    SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getLogits().getType());
  return success();
}

void BCEWithLogitsGradOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v,
                                           SmallVectorImpl<Value> &results) {
  results.push_back(b.mul(b.sub(b.sigmoid(v[0]), v[1]), v[2]));
}
