// Gradients of reductions, softmax, CumSum, TopK.
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"
#include "kedge/Dialect/Train/Gradient/MovementGradientOps.h"
#include "lib/Dialect/ONNX/ElementwiseUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

/// train.reduce_grad over the operand's shape; `saved` are the values of the forward op that it reads.
template <typename Op>
static Value broadcast(Op op, OpBuilder &builder, Value grad, train::ReduceFunction function,
                       ValueRange saved) {
  return train::ReduceGradOp::create(builder, op.getLoc(), grad, saved, function, shapeOf(op.getX()),
                                     op.getAxes(), op.getKeepdims());
}

using F = train::ReduceFunction;
KEDGE_UNARY_GRADIENT(ReduceSumOp, broadcast(*this, math.builder, grad, F::Sum, {}))
KEDGE_UNARY_GRADIENT(ReduceMeanOp, broadcast(*this, math.builder, grad, F::Mean, {}))
KEDGE_UNARY_GRADIENT(ReduceMaxOp, broadcast(*this, math.builder, grad, F::Max, {getX(), getResult()}))
KEDGE_UNARY_GRADIENT(ReduceMinOp, broadcast(*this, math.builder, grad, F::Min, {getX(), getResult()}))
KEDGE_UNARY_GRADIENT(ReduceProdOp, broadcast(*this, math.builder, grad, F::Prod, {getX()}))
KEDGE_UNARY_GRADIENT(ReduceL1Op, broadcast(*this, math.builder, grad, F::L1, {getX()}))
KEDGE_UNARY_GRADIENT(ReduceL2Op, broadcast(*this, math.builder, grad, F::L2, {getX(), getResult()}))
KEDGE_UNARY_GRADIENT(ReduceLogSumOp, broadcast(*this, math.builder, grad, F::LogSum, {getX()}))
KEDGE_UNARY_GRADIENT(ReduceLogSumExpOp,
                     broadcast(*this, math.builder, grad, F::LogSumExp, {getX(), getResult()}))
KEDGE_UNARY_GRADIENT(ReduceSumSquareOp, broadcast(*this, math.builder, grad, F::SumSquare, {getX()}))

KEDGE_UNARY_GRADIENT(SoftmaxOp,
                     train::SoftmaxGradOp::create(builder, math.loc, grad, getResult(), getAxisAttr()))
KEDGE_UNARY_GRADIENT(LogSoftmaxOp,
                     train::LogSoftmaxGradOp::create(builder, math.loc, grad, getResult(), getAxisAttr()))
KEDGE_UNARY_GRADIENT(CumSumOp, CumSumOp::create(builder, math.loc, grad, getAxisAttr(), getExclusiveAttr(),
                                                builder.getBoolAttr(!getReverse())))

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  SmallVector<Type> whole;
  int64_t axis = adaptor.getAxis(), k = adaptor.getK();
  if (failed(inferAlongAxis(location, adaptor.getX(), axis, whole)))
    return failure();
  SmallVector<int64_t> shape(shapeOf(adaptor.getX()));
  if (k < 0 || k > shape[axis])
    return emitOptionalError(location, "k is ", k, ", expected at most ", shape[axis], ", the size of axis ",
                             axis);
  shape[axis] = k;
  types.push_back(RankedTensorType::get(shape, elementOf(adaptor.getX())));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 64)));
  return success();
}

/// The indices' gradient is nothing; values came from where the indices say.
LogicalResult TopKOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    SmallVectorImpl<Value> &operandGrads) {
  Value grad = resultGrads[0];
  operandGrads.push_back(grad ? train::GatherElementsGradOp::create(builder, getLoc(), grad, getIndices(),
                                                                    getAxis(), shapeOf(getX()))
                              : Value());
  return success();
}
