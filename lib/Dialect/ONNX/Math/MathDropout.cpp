// onnx.Dropout: the model's op, before the step says where random numbers come from.
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

LogicalResult DropoutOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getX().getType());
  if (adaptor.getWithMask())
    types.push_back(RankedTensorType::get(shapeOf(adaptor.getX()), IntegerType::get(context, 1)));
  return success();
}

LogicalResult DropoutOp::verify() {
  if (getRatio().isNegative() || getRatio() > APFloat(1.0f))
    return emitOpError("has ratio ") << getRatio().convertToDouble() << ", expected one of [0, 1]";
  return success();
}

LogicalResult DropoutOp::buildGradient(OpBuilder &, ValueRange resultGrads,
                                       SmallVectorImpl<Value> &operandGrads) {
  if (getTrainingMode())
    return emitOpError(
        "in training mode has no gradient of its own: the step's builder makes it train.dropout first");
  operandGrads.push_back(resultGrads[0]);
  return success();
}

bool DropoutOp::isDifferentiableOperand(unsigned index) { return index == 0; }
