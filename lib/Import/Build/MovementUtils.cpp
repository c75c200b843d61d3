#include "MovementUtils.h"
#include "kedge/Dialect/ONNX/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;
using namespace kedge;

Value kedge::reshape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return onnx::ReshapeOp::create(builder, loc, value, shape);
}

Value kedge::transpose(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> perm) {
  SmallVector<int64_t> moving, shape;
  for (int64_t axis : perm) {
    shape.push_back(shapeOf(value)[axis]);
    if (shape.back() != 1)
      moving.push_back(axis);
  }
  if (llvm::is_sorted(moving))
    return reshape(builder, loc, value, shape);
  return onnx::TransposeOp::create(builder, loc, value, perm);
}

Value kedge::expand(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return onnx::ExpandOp::create(builder, loc, value, shape);
}

Value kedge::sliceAxis(OpBuilder &builder, Location loc, Value value, int64_t axis, int64_t start, int64_t end) {
  if (start == 0 && end == shapeOf(value)[axis])
    return value;
  SmallVector<int64_t> starts(rankOf(value), 0), ends(shapeOf(value)), steps(rankOf(value), 1);
  starts[axis] = start;
  ends[axis] = end;
  return onnx::SliceOp::create(builder, loc, value, starts, ends, steps);
}

SmallVector<int64_t> kedge::without(ArrayRef<int64_t> shape, int64_t axis) {
  SmallVector<int64_t> rest(shape);
  rest.erase(rest.begin() + axis);
  return rest;
}
