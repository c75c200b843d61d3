// train.softmax_grad and train.log_softmax_grad.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

/// Grad, result and gradient are of one shape.
template <typename Adaptor>
static LogicalResult inferSame(std::optional<Location> location, Adaptor adaptor,
                               SmallVectorImpl<Type> &types) {
  if (shapeOf(adaptor.getGrad()) != shapeOf(adaptor.getY()))
    return emitOptionalError(location, "gradient has shape [", shapeOf(adaptor.getGrad()), "], expected [",
                             shapeOf(adaptor.getY()), "] as the result");
  if (static_cast<int64_t>(adaptor.getAxis()) < 0 ||
      static_cast<int64_t>(adaptor.getAxis()) >= rankOf(adaptor.getY()))
    return emitOptionalError(location, "axis ", adaptor.getAxis(), " is out of range: expected one of [0, ",
                             rankOf(adaptor.getY()) - 1, "]");
  types.push_back(adaptor.getGrad().getType());
  return success();
}

template <typename Op> static void describe(Op op, ClusterSpec &spec) {
  describeBroadcast(op.getOperation(), spec);
  spec.reduced[op.getAxis()] = true;
}

LogicalResult SoftmaxGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferSame(location, adaptor, types);
}
void SoftmaxGradOp::describeCluster(ClusterSpec &spec) { describe(*this, spec); }
void SoftmaxGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                     SmallVectorImpl<Value> &results) {
  Value grad = scalars[0], y = scalars[1];
  Value shared = body.sum(body.mul(grad, y));
  results.push_back(body.mul(y, body.sub(grad, shared)));
}

LogicalResult LogSoftmaxGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                 Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferSame(location, adaptor, types);
}
void LogSoftmaxGradOp::describeCluster(ClusterSpec &spec) { describe(*this, spec); }
void LogSoftmaxGradOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                        SmallVectorImpl<Value> &results) {
  Value grad = scalars[0], y = scalars[1];
  results.push_back(body.sub(grad, body.mul(body.exp(y), body.sum(grad))));
}
