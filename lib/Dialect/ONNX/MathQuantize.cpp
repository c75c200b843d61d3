// Result types of the quantisation ops.
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

static Type unsignedByte(MLIRContext *context) { return IntegerType::get(context, 8, IntegerType::Unsigned); }

LogicalResult QuantizeLinearOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  Type element = adaptor.getZeroPoint() ? elementOf(adaptor.getZeroPoint()) : unsignedByte(context);
  types.push_back(RankedTensorType::get(shapeOf(adaptor.getX()), element));
  return success();
}

LogicalResult DequantizeLinearOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                   SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get(shapeOf(adaptor.getX()), elementOf(adaptor.getScale())));
  return success();
}

LogicalResult DynamicQuantizeLinearOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                                        SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get(shapeOf(adaptor.getX()), unsignedByte(context)));
  types.push_back(RankedTensorType::get({}, elementOf(adaptor.getX())));
  types.push_back(RankedTensorType::get({}, unsignedByte(context)));
  return success();
}
