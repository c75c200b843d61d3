#include "lib/Dialect/Train/Quantized/Float8Ops.h"
#include "lib/Dialect/ONNX/Movement/MovementOps.h"
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
double largestOf(Type float8) {
  return APFloat::getLargest(cast<FloatType>(float8).getFloatSemantics()).convertToDouble();
}

/// x * scale within the range of the type; the store rounds it.
Value clamped(ClusterBodyBuilder &b, ValueRange v, Type float8) {
  const double largest = largestOf(float8);
  auto number = [&](double value) { return b.constant(v[0].getType(), value); };
  return b.minimum(b.maximum(b.mul(v[0], v[1]), number(-largest)), number(largest));
}
} // namespace

LogicalResult RowMaximaOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get(shapeOf(adaptor.getX()).drop_back(), elementOf(adaptor.getX())));
  return success();
}

void RowMaximaOp::describeCluster(ClusterSpec &spec) {
  const unsigned rank = rankOf(getX());
  AffineMap all = AffineMap::getMultiDimIdentityMap(rank, getContext());
  spec.domain = llvm::to_vector(shapeOf(getX()));
  spec.reduced.assign(rank, false);
  spec.reduced.back() = true;
  spec.inputMaps.push_back(all);
  spec.outputMaps.push_back(all.dropResult(rank - 1));
}

void RowMaximaOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  results.push_back(b.max(b.abs(v[0])));
}

LogicalResult Float8ScaleOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor,
                                              SmallVectorImpl<Type> &types) {
  types.append(2, RankedTensorType::get({}, Float32Type::get(context)));
  return success();
}

void Float8ScaleOp::describeCluster(ClusterSpec &spec) {
  const unsigned rank = rankOf(getMaxima());
  spec.domain = llvm::to_vector(shapeOf(getMaxima()));
  spec.reduced.assign(rank, true);
  spec.inputMaps.push_back(AffineMap::getMultiDimIdentityMap(rank, getContext()));
  spec.outputMaps.assign(2, AffineMap::get(rank, 0, getContext()));
}

void Float8ScaleOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Type single = b.builder.getF32Type(), wide = b.builder.getF64Type();
  Value amax = rankOf(getMaxima()) > 0 ? b.max(v[0]) : v[0];
  Value bounded = b.maximum(b.cast(amax, wide), b.constant(wide, 1e-12));
  Value scale = b.cast(b.div(b.constant(wide, largestOf(getTo())), bounded), single);
  results.append({scale, b.div(b.constant(single, 1), scale)});
}

LogicalResult Float8CastOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  types.push_back(tensorType(adaptor.getX()).clone(adaptor.getTo()));
  return success();
}

void Float8CastOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  results.push_back(clamped(b, v, getTo()));
}

LogicalResult Float8CastBothOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  if (rankOf(adaptor.getX()) != 2)
    return failure();
  ArrayRef<int64_t> shape = shapeOf(adaptor.getX());
  types.append({RankedTensorType::get(shape, adaptor.getTo()),
                RankedTensorType::get({shape[1], shape[0]}, adaptor.getTo())});
  return success();
}

void Float8CastBothOp::describeCluster(ClusterSpec &spec) {
  MLIRContext *context = getContext();
  AffineMap all = AffineMap::getMultiDimIdentityMap(2, context);
  spec.domain = llvm::to_vector(shapeOf(getX()));
  spec.reduced.assign(2, false);
  spec.inputMaps = {all, AffineMap::get(2, 0, context)};
  spec.outputMaps = {all, AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0}, context)};
}

void Float8CastBothOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v,
                                        SmallVectorImpl<Value> &results) {
  results.append(2, clamped(b, v, getTo()));
}

/// A GPU's tensor cores read both operands along the summed dim.
bool ScaledProductOp::hasKernelOn(StringRef target) {
  return target != "cuda" || (!getTransA() && getTransB());
}

LogicalResult ScaledProductOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  auto transposed = [&](Value matrix) -> Value {
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(matrix)));
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return onnx::TransposeOp::create(builder, getLoc(), matrix, builder.getDenseI64ArrayAttr(perm));
  };
  Value a = getTransA() ? transposed(getA()) : getA(), b = getTransB() ? getB() : transposed(getB());
  results.push_back(create(builder, getLoc(), getType(), a, b, getInverseA(), getInverseB(), getC(), false,
                           true, getAlpha(), getBeta()));
  return success();
}
