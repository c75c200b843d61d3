// Convolutions: shapes and gradients.
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/WindowShape.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
template <typename Adaptor> Window windowOf(Adaptor adaptor) {
  return {{}, adaptor.getStrides(), adaptor.getPads(), adaptor.getDilations()};
}

LogicalResult checkBias(std::optional<Location> loc, Value bias, int64_t channels) {
  if (bias && shapeOf(bias) != ArrayRef<int64_t>{channels})
    return emitOptionalError(loc, "bias needs ", channels, " elements, one an output channel, found ",
                             bias.getType());
  return success();
}

/// Sum over all but the channels.
Value biasGradient(OpBuilder &builder, Location loc, Value dY) {
  SmallVector<int64_t> axes = {0};
  for (int64_t dim = 2; dim < rankOf(dY); ++dim)
    axes.push_back(dim);
  return ReduceSumOp::create(builder, loc, dY, axes, /*keepdims=*/false);
}

template <typename InputGrad, typename WeightGrad, typename Op>
void convGradient(Op op, OpBuilder &builder, Value dY, SmallVectorImpl<Value> &grads) {
  Value dX = InputGrad::create(builder, op.getLoc(), op.getX().getType(), dY, op.getW(), op.getStridesAttr(),
                               op.getPadsAttr(), op.getDilationsAttr(), op.getGroupAttr());
  Value dW = WeightGrad::create(builder, op.getLoc(), op.getW().getType(), op.getX(), dY, op.getStridesAttr(),
                                op.getPadsAttr(), op.getDilationsAttr(), op.getGroupAttr());
  grads.append({dX, dW});
  if (op.getB())
    grads.push_back(biasGradient(builder, op.getLoc(), dY));
}
} // namespace

LogicalResult ConvOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto shape = convolutionShape(loc, adaptor.getX(), adaptor.getW(), windowOf(adaptor), adaptor.getGroup());
  if (failed(shape) || failed(checkBias(loc, adaptor.getB(), (*shape)[1])))
    return failure();
  types.push_back(RankedTensorType::get(*shape, elementOf(adaptor.getX())));
  return success();
}

LogicalResult ConvOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    SmallVectorImpl<Value> &operandGrads) {
  convGradient<train::ConvGradInputOp, train::ConvGradWeightOp>(*this, builder, resultGrads[0], operandGrads);
  return success();
}

LogicalResult ConvTransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  auto shape = transposedShape(loc, adaptor.getX(), adaptor.getW(), windowOf(adaptor),
                               adaptor.getOutputPadding(), adaptor.getGroup());
  if (failed(shape) || failed(checkBias(loc, adaptor.getB(), (*shape)[1])))
    return failure();
  types.push_back(RankedTensorType::get(*shape, elementOf(adaptor.getX())));
  return success();
}

LogicalResult ConvTransposeOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                             SmallVectorImpl<Value> &operandGrads) {
  convGradient<train::ConvTransposeGradInputOp, train::ConvTransposeGradWeightOp>(
      *this, builder, resultGrads[0], operandGrads);
  return success();
}
