// Pools over windows and over all spatial dims.
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/WindowShape.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
template <typename Adaptor>
FailureOr<RankedTensorType> pooledType(std::optional<Location> loc, Adaptor adaptor) {
  auto x = tensorType(adaptor.getX());
  if (x.getRank() < 3)
    return emitOptionalError(loc, "pooling needs X [N, C, spatial], found ", x);
  Window window = {adaptor.getKernelShape(), adaptor.getStrides(), adaptor.getPads(), adaptor.getDilations()};
  auto places = windowPlaces(loc, x.getShape().drop_front(2), window, adaptor.getCeilMode());
  if (failed(places))
    return failure();
  SmallVector<int64_t> shape(x.getShape().take_front(2));
  shape.append(*places);
  return x.clone(shape);
}

LogicalResult inferGlobalPool(std::optional<Location> loc, Value x, SmallVectorImpl<Type> &types) {
  if (rankOf(x) < 3)
    return emitOptionalError(loc, "pooling needs X [N, C, spatial], found ", x.getType());
  SmallVector<int64_t> shape(shapeOf(x));
  std::fill(shape.begin() + 2, shape.end(), 1);
  types.push_back(tensorType(x).clone(shape));
  return success();
}

void describeGlobalPool(Value x, ClusterSpec &spec) {
  MLIRContext *context = x.getContext();
  unsigned rank = rankOf(x);
  SmallVector<AffineExpr> result;
  for (unsigned dim = 0; dim < rank; ++dim)
    result.push_back(dim < 2 ? getAffineDimExpr(dim, context) : getAffineConstantExpr(0, context));
  spec.domain.assign(shapeOf(x).begin(), shapeOf(x).end());
  spec.reduced.assign(rank, true);
  spec.reduced[0] = spec.reduced[1] = false;
  spec.inputMaps = {AffineMap::getMultiDimIdentityMap(rank, context)};
  spec.outputMaps = {AffineMap::get(rank, 0, result, context)};
}

int64_t spatialCount(Value x) { return elementCount(shapeOf(x).drop_front(2)); }
} // namespace

//===--- Windows ----------------------------------------------------------------------------------------===//

LogicalResult MaxPoolOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto type = pooledType(loc, adaptor);
  if (failed(type))
    return failure();
  types.push_back(*type);
  if (adaptor.getWithIndices())
    types.push_back(type->clone(IntegerType::get(context, 64)));
  return success();
}

LogicalResult MaxPoolOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       SmallVectorImpl<Value> &operandGrads) {
  operandGrads.push_back(train::MaxPoolGradOp::create(builder, getLoc(), getX().getType(), resultGrads[0],
                                                      getX(), getKernelShape(), getStrides(), getPads(),
                                                      getDilations()));
  return success();
}

LogicalResult AveragePoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  auto type = pooledType(loc, adaptor);
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

LogicalResult AveragePoolOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                           SmallVectorImpl<Value> &operandGrads) {
  operandGrads.push_back(train::AveragePoolGradOp::create(builder, getLoc(), getX().getType(), resultGrads[0],
                                                          getKernelShape(), getStrides(), getPads(),
                                                          getDilations(), getCountIncludePad()));
  return success();
}

//===--- All spatial dims -------------------------------------------------------------------------------===//

LogicalResult GlobalAveragePoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                    Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferGlobalPool(loc, adaptor.getX(), types);
}
void GlobalAveragePoolOp::describeCluster(ClusterSpec &spec) { describeGlobalPool(getX(), spec); }
void GlobalAveragePoolOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                           SmallVectorImpl<Value> &results) {
  results.push_back(
      body.div(body.sum(scalars[0]), body.constant(scalars[0].getType(), spatialCount(getX()))));
}
LogicalResult GlobalAveragePoolOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                                 SmallVectorImpl<Value> &operandGrads) {
  Value share = scalarLike(builder, getLoc(), resultGrads[0], 1.0 / spatialCount(getX()));
  Value scaled = MulOp::create(builder, getLoc(), resultGrads[0], share);
  operandGrads.push_back(ExpandOp::create(builder, getLoc(), scaled, shapeOf(getX())));
  return success();
}

LogicalResult GlobalMaxPoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  return inferGlobalPool(loc, adaptor.getX(), types);
}
void GlobalMaxPoolOp::describeCluster(ClusterSpec &spec) { describeGlobalPool(getX(), spec); }
void GlobalMaxPoolOp::buildClusterBody(ClusterBodyBuilder &body, ValueRange scalars,
                                       SmallVectorImpl<Value> &results) {
  results.push_back(body.max(scalars[0]));
}
LogicalResult GlobalMaxPoolOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                             SmallVectorImpl<Value> &operandGrads) {
  ArrayRef<int64_t> window = shapeOf(getX()).drop_front(2);
  SmallVector<int64_t> ones(window.size(), 1), zeros(2 * window.size(), 0);
  operandGrads.push_back(train::MaxPoolGradOp::create(builder, getLoc(), getX().getType(), resultGrads[0],
                                                      getX(), window, ones, zeros, ones));
  return success();
}
