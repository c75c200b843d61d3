#include "lib/Dialect/ONNX/ElementwiseUtils.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace kedge;

/// The common element type; null when operands disagree.
static Type commonElement(ValueRange operands) {
  Type common, scalar;
  for (Value operand : operands) {
    Type element = elementOf(operand);
    if (rankOf(operand) == 0 && isa<FloatType>(element)) {
      bool wider = !scalar || element.getIntOrFloatBitWidth() > scalar.getIntOrFloatBitWidth();
      scalar = wider ? element : scalar;
    } else if (!common) {
      common = element;
    } else if (common != element) {
      return {};
    }
  }
  if (!common)
    return scalar;
  return scalar && !isa<FloatType>(common) ? Type() : common;
}

LogicalResult kedge::inferElementwise(std::optional<Location> location, ValueRange operands,
                                      SmallVectorImpl<Type> &types, Type element) {
  Type common = commonElement(operands);
  if (!common)
    return emitOptionalError(location, "operands have different element types: ", operands.getTypes());
  return inferBroadcast(location, operands, types, element ? element : common);
}

SmallVector<int64_t> kedge::reducedShape(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes, bool keepdims) {
  SmallVector<int64_t> result;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(dim)))
      result.push_back(size);
    else if (keepdims)
      result.push_back(1);
  }
  return result;
}

LogicalResult kedge::inferReduction(std::optional<Location> location, Value x, ArrayRef<int64_t> axes,
                                    bool keepdims, SmallVectorImpl<Type> &types, Type element) {
  auto normal = normalizeAxes(location, axes, rankOf(x));
  if (failed(normal))
    return failure();
  if (ArrayRef<int64_t>(*normal) != axes)
    return emitOptionalError(location, "axes [", axes, "] must be sorted and not negative: expected [",
                             ArrayRef<int64_t>(*normal), "]");
  types.push_back(
      RankedTensorType::get(reducedShape(shapeOf(x), axes, keepdims), element ? element : elementOf(x)));
  return success();
}

AffineMap kedge::reducedMap(MLIRContext *context, int64_t rank, ArrayRef<int64_t> axes, bool keepdims) {
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (!llvm::is_contained(axes, dim))
      exprs.push_back(getAffineDimExpr(dim, context));
    else if (keepdims)
      exprs.push_back(getAffineConstantExpr(0, context));
  }
  return AffineMap::get(rank, 0, exprs, context);
}

void kedge::describeReduction(Operation *op, ArrayRef<int64_t> axes, bool keepdims, ClusterSpec &spec) {
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  MLIRContext *context = op->getContext();
  spec.domain.assign(shape.begin(), shape.end());
  spec.reduced.assign(shape.size(), false);
  for (int64_t axis : axes)
    spec.reduced[axis] = true;
  spec.inputMaps.push_back(AffineMap::getMultiDimIdentityMap(shape.size(), context));
  spec.outputMaps.assign(op->getNumResults(), reducedMap(context, shape.size(), axes, keepdims));
}

LogicalResult kedge::inferAlongAxis(std::optional<Location> location, Value x, int64_t axis,
                                    SmallVectorImpl<Type> &types) {
  if (axis < 0 || axis >= rankOf(x))
    return emitOptionalError(location, "axis ", axis, " is out of range: expected one of [0, ", rankOf(x) - 1,
                             "]");
  types.push_back(x.getType());
  return success();
}
