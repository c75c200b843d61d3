// onnx.RandomNormal and RandomUniform: the model's ops, before the step says where their numbers come from.
#include "kedge/Dialect/ONNX/Math/MathOps.h"

using namespace mlir;
using namespace kedge::onnx;

LogicalResult RandomNormalOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get(adaptor.getShape(), adaptor.getDtype()));
  return success();
}

LogicalResult RandomUniformOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get(adaptor.getShape(), adaptor.getDtype()));
  return success();
}
