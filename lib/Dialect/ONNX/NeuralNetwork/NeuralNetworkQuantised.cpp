// Products and convolutions of 8-bit integers: shapes only.
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/WindowShape.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
LogicalResult inferByMatMul(MLIRContext *context, std::optional<Location> loc, Value a, Value b, Type element,
                            SmallVectorImpl<Type> &types) {
  MatMulOp::Properties properties;
  properties.transA = properties.transB = BoolAttr::get(context, false);
  SmallVector<Value> operands = {a, b};
  SmallVector<Type> product;
  MatMulOp::Adaptor adaptor(operands, DictionaryAttr(), &properties);
  if (failed(MatMulOp::inferReturnTypes(context, loc, adaptor, product)))
    return failure();
  types.push_back(cast<RankedTensorType>(product[0]).clone(element));
  return success();
}
} // namespace

LogicalResult MatMulIntegerOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferByMatMul(context, loc, adaptor.getA(), adaptor.getB(), IntegerType::get(context, 32), types);
}

LogicalResult QLinearMatMulOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferByMatMul(context, loc, adaptor.getA(), adaptor.getB(), elementOf(adaptor.getYZeroPoint()),
                       types);
}

LogicalResult ConvIntegerOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto shape = convolutionShape(loc, adaptor.getX(), adaptor.getW(),
                                {{}, adaptor.getStrides(), adaptor.getPads(), adaptor.getDilations()},
                                adaptor.getGroup());
  if (failed(shape))
    return failure();
  types.push_back(RankedTensorType::get(*shape, IntegerType::get(context, 32)));
  return success();
}
