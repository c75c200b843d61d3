#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Support/TensorLimits.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

int64_t kedge::elementCount(ArrayRef<int64_t> shape) { return saturatedCount(shape); }

FailureOr<SmallVector<int64_t>> kedge::broadcastShapes(std::optional<Location> location,
                                                       ArrayRef<ArrayRef<int64_t>> shapes) {
  size_t rank = 0;
  for (ArrayRef<int64_t> shape : shapes)
    rank = std::max(rank, shape.size());
  SmallVector<int64_t> result(rank, 1);
  for (ArrayRef<int64_t> shape : shapes)
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t &dim = result[rank - shape.size() + i];
      if (dim == 1)
        dim = shape[i];
      else if (shape[i] != 1 && shape[i] != dim)
        return emitOptionalError(location, "operand shapes do not broadcast: dimension ", i, " of [", shape,
                                 "] is ", shape[i], ", expected 1 or ", dim);
    }
  return result;
}

LogicalResult kedge::inferBroadcast(std::optional<Location> location, ValueRange operands,
                                    SmallVectorImpl<Type> &types, Type element) {
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Value operand : operands)
    shapes.push_back(shapeOf(operand));
  auto shape = broadcastShapes(location, shapes);
  if (failed(shape))
    return failure();
  types.push_back(RankedTensorType::get(*shape, element ? element : elementOf(operands[0])));
  return success();
}

FailureOr<int64_t> kedge::normalizeAxis(std::optional<Location> location, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return emitOptionalError(location, "axis ", axis, " is out of range: expected one of [", -rank, ", ",
                             rank - 1, "]");
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> kedge::normalizeAxes(std::optional<Location> location, ArrayRef<int64_t> axes,
                                                     int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    auto normal = normalizeAxis(location, axis, rank);
    if (failed(normal))
      return failure();
    result.push_back(*normal);
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return emitOptionalError(location, "axes [", axes, "] name a dimension twice");
  return result;
}
