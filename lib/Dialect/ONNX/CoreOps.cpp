#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/ONNXDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge::onnx;

#define GET_OP_CLASSES
#include "kedge/Dialect/ONNX/CoreOps.cpp.inc"

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getValue().getShapedType());
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult IdentityOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getInput().getType());
  return success();
}

OpFoldResult IdentityOp::fold(FoldAdaptor) { return getStopsGradient() ? OpFoldResult() : getInput(); }

LogicalResult IdentityOp::buildGradient(OpBuilder &, ValueRange resultGrads,
                                        SmallVectorImpl<Value> &operandGrads) {
  operandGrads.push_back(getStopsGradient() ? Value() : resultGrads[0]);
  return success();
}

Operation *ONNXDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  if (auto elements = dyn_cast<ElementsAttr>(value))
    return ConstantOp::create(builder, loc, type, elements);
  return nullptr;
}
