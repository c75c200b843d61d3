#include "kedge/Dialect/Train/Quantized/Float8Ops.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
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

namespace {
/// Tensor cores of 8-bit floats read rows of whole 16 bytes.
constexpr int64_t kStep = 16;

int64_t toStep(int64_t size) { return llvm::alignTo(size, kStep); }

Value reshaped(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> shape) {
  return b.createOrFold<onnx::ReshapeOp>(loc, value, shape);
}

/// All dims but the last as rows.
Value asRows(OpBuilder &b, Location loc, Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  return reshaped(b, loc, value, {elementCount(shape.drop_back()), shape.back()});
}

Value transposed(OpBuilder &b, Location loc, Value matrix) {
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(matrix)));
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return onnx::TransposeOp::create(b, loc, matrix, b.getDenseI64ArrayAttr(perm));
}

/// With zeros behind the last two dims.
Value filledUp(OpBuilder &b, Location loc, Value matrix) {
  const size_t rank = rankOf(matrix);
  SmallVector<int64_t> pads(2 * rank, 0);
  for (size_t dim : {rank - 2, rank - 1})
    pads[rank + dim] = toStep(shapeOf(matrix)[dim]) - shapeOf(matrix)[dim];
  return onnx::PadOp::create(b, loc, matrix, Value(), onnx::PadMode::Constant, pads);
}

bool isInSteps(Value matrix) {
  return llvm::all_of(shapeOf(matrix).take_back(2), [](int64_t size) { return size % kStep == 0; });
}

/// Blocks of weights may have other sizes than tensor cores take. `a` and `b` have the summed dim last.
Value productInSteps(OpBuilder &builder, ScaledProductOp op, Value a, Value b) {
  const Location loc = op.getLoc();
  const Type single = builder.getF32Type();
  if (rankOf(b) == 2)
    a = asRows(builder, loc, a);
  SmallVector<int64_t> shape(shapeOf(op.getY())), padded(shape);
  if (rankOf(b) == 2)
    shape = padded = {shapeOf(a)[0], shape.back()};
  for (int64_t &size : MutableArrayRef(padded).take_back(2))
    size = toStep(size);
  Value sum = ScaledProductOp::create(builder, loc, RankedTensorType::get(padded, single),
                                      filledUp(builder, loc, a), filledUp(builder, loc, b), op.getInverseA(),
                                      op.getInverseB(), Value(), false, true, op.getAlpha(), APFloat(1.0f));
  const SmallVector<int64_t> zeros(shape.size(), 0), ones(shape.size(), 1);
  sum = onnx::SliceOp::create(builder, loc, sum, zeros, shape, ones);
  sum = reshaped(builder, loc, sum, shapeOf(op.getY()));
  GradientBuilder math{builder, loc};
  if (op.getC())
    sum = math.add(sum, math.scale(math.cast(op.getC(), single), op.getBeta().convertToFloat()));
  return math.cast(sum, elementOf(op.getY()));
}
} // namespace

/// A GPU's tensor cores read both operands along the summed dim.
bool ScaledProductOp::hasKernelOn(TargetKind target) {
  const bool isPlain = rankOf(getB()) > 2 || rankOf(getA()) == 2;
  const bool hasRows =
      isPlain ? isInSteps(getA())
              : elementCount(shapeOf(getA()).drop_back()) % kStep == 0 && shapeOf(getA()).back() % kStep == 0;
  return target != TargetKind::Cuda || (!getTransA() && getTransB() && hasRows && isInSteps(getB()));
}

LogicalResult ScaledProductOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Value a = getTransA() ? transposed(builder, getLoc(), getA()) : getA(),
        b = getTransB() ? getB() : transposed(builder, getLoc(), getB());
  auto made = create(builder, getLoc(), getType(), a, b, getInverseA(), getInverseB(), getC(), false, true,
                     getAlpha(), getBeta());
  if (!made.hasKernelOn(TargetKind::Cuda)) {
    results.push_back(productInSteps(builder, made, a, b));
    made.erase();
    return success();
  }
  results.push_back(made);
  return success();
}
