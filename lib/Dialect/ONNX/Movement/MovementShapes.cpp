// Result types of movement ops.
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
using Types = SmallVectorImpl<Type>;
using MaybeLocation = std::optional<Location>;
using Shape = SmallVector<int64_t>;

LogicalResult give(Types &types, ArrayRef<int64_t> shape, Type element) {
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

LogicalResult checkRank(MaybeLocation place, ArrayRef<int64_t> list, int64_t rank, StringRef what) {
  if ((int64_t)list.size() == rank)
    return success();
  return emitOptionalError(place, what, " has ", list.size(), " entries, expected ", rank);
}
} // namespace

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  int64_t have = elementCount(shapeOf(adaptor.getData())), want = elementCount(adaptor.getShape());
  if (have != want || llvm::any_of(adaptor.getShape(), [](int64_t d) { return d < 0; }))
    return emitOptionalError(place, "cannot reshape [", shapeOf(adaptor.getData()), "] (", have,
                             " elements) to [", adaptor.getShape(), "] (", want, " elements)");
  return give(types, adaptor.getShape(), elementOf(adaptor.getData()));
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor,
                                            Types &types) {
  ArrayRef<int64_t> perm = adaptor.getPerm(), from = shapeOf(adaptor.getData());
  Shape sorted(perm), shape;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, from.size())))
    return emitOptionalError(place, "perm [", perm, "] is no permutation of ", from.size(), " dimensions");
  for (int64_t axis : perm)
    shape.push_back(from[axis]);
  return give(types, shape, elementOf(adaptor.getData()));
}

LogicalResult ExpandOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  auto shape = broadcastShapes(place, {shapeOf(adaptor.getInput()), adaptor.getShape()});
  if (failed(shape))
    return failure();
  if (ArrayRef<int64_t>(*shape) != adaptor.getShape())
    return emitOptionalError(place, "expands [", shapeOf(adaptor.getInput()), "] to [", adaptor.getShape(),
                             "], which is smaller");
  return give(types, *shape, elementOf(adaptor.getInput()));
}

LogicalResult BitCastOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  Type from = elementOf(adaptor.getData());
  auto bytes = [](Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; };
  if (bytes(from) != bytes(adaptor.getTo()))
    return emitOptionalError(place, "reads elements of type ", from, " as ", adaptor.getTo(),
                             ", expected a type of the same width");
  return give(types, shapeOf(adaptor.getData()), adaptor.getTo());
}

LogicalResult TileOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  Shape shape(shapeOf(adaptor.getInput()));
  if (failed(checkRank(place, adaptor.getRepeats(), shape.size(), "repeats")))
    return failure();
  for (auto [size, repeat] : llvm::zip(shape, adaptor.getRepeats())) {
    if (repeat < 0)
      return emitOptionalError(place, "repeats ", repeat, " times, expected 0 or more");
    size *= repeat;
  }
  return give(types, shape, elementOf(adaptor.getInput()));
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(place, "joins no tensors, expected at least one");
  Shape shape(shapeOf(adaptor.getInputs()[0]));
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= (int64_t)shape.size())
    return emitOptionalError(place, "axis ", axis, " is out of range for rank ", shape.size());
  int64_t joined = 0;
  for (Value input : adaptor.getInputs()) {
    Shape other(shapeOf(input));
    if (other.size() == shape.size()) {
      joined += other[axis];
      other[axis] = shape[axis];
    }
    if (other != shape)
      return emitOptionalError(place, "cannot join [", shapeOf(input), "] and [",
                               shapeOf(adaptor.getInputs()[0]), "] along axis ", axis,
                               ": the other dimensions differ");
    if (elementOf(input) != elementOf(adaptor.getInputs()[0]))
      return emitOptionalError(place, "cannot join element types ", elementOf(input), " and ",
                               elementOf(adaptor.getInputs()[0]));
  }
  shape[axis] = joined;
  return give(types, shape, elementOf(adaptor.getInputs()[0]));
}

LogicalResult SplitOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  Shape shape(shapeOf(adaptor.getInput()));
  int64_t axis = adaptor.getAxis(), total = 0;
  if (axis < 0 || axis >= (int64_t)shape.size())
    return emitOptionalError(place, "axis ", axis, " is out of range for rank ", shape.size());
  int64_t size = shape[axis];
  for (int64_t part : adaptor.getSplit()) {
    total += part;
    shape[axis] = part;
    types.push_back(RankedTensorType::get(shape, elementOf(adaptor.getInput())));
  }
  if (total != size || llvm::any_of(adaptor.getSplit(), [](int64_t part) { return part < 0; }))
    return emitOptionalError(place, "splits dimension ", axis, " of size ", size, " into parts [",
                             adaptor.getSplit(), "]");
  return success();
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  Shape shape(shapeOf(adaptor.getData()));
  int64_t rank = shape.size();
  if (failed(checkRank(place, adaptor.getStarts(), rank, "starts")) ||
      failed(checkRank(place, adaptor.getEnds(), rank, "ends")) ||
      failed(checkRank(place, adaptor.getSteps(), rank, "steps")))
    return failure();
  for (int64_t i = 0; i < rank; ++i) {
    int64_t start = adaptor.getStarts()[i], end = adaptor.getEnds()[i], step = adaptor.getSteps()[i];
    if (step == 0)
      return emitOptionalError(place, "step of dimension ", i, " is 0");
    end = end < 0 ? -1 : end;
    shape[i] =
        std::max<int64_t>(0, step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step);
  }
  return give(types, shape, elementOf(adaptor.getData()));
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  Shape shape(shapeOf(adaptor.getData()));
  int64_t rank = shape.size();
  ArrayRef<int64_t> pads = adaptor.getPads();
  if (failed(checkRank(place, pads, 2 * rank, "pads")))
    return failure();
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = shape[i] + pads[i] + pads[rank + i];
    if (size < 0)
      return emitOptionalError(place, "pads ", pads[i], " and ", pads[rank + i], " crop dimension ", i,
                               " of size ", shape[i], " to less than nothing");
    if (adaptor.getMode() != PadMode::Constant && shape[i] == 0 && size > 0)
      return emitOptionalError(place, "pads dimension ", i, " of size 0 by mode ",
                               stringifyEnum(adaptor.getMode()));
    shape[i] = size;
  }
  return give(types, shape, elementOf(adaptor.getData()));
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  ArrayRef<int64_t> data = shapeOf(adaptor.getData()), indices = shapeOf(adaptor.getIndices());
  auto axis = normalizeAxis(place, adaptor.getAxis(), data.size());
  if (failed(axis))
    return failure();
  Shape shape(data.take_front(*axis));
  shape.append(indices.begin(), indices.end());
  shape.append(data.begin() + *axis + 1, data.end());
  return give(types, shape, elementOf(adaptor.getData()));
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor,
                                                 Types &types) {
  if (failed(normalizeAxis(place, adaptor.getAxis(), rankOf(adaptor.getData()))))
    return failure();
  if (rankOf(adaptor.getIndices()) != rankOf(adaptor.getData()))
    return emitOptionalError(place, "indices have rank ", rankOf(adaptor.getIndices()), ", expected ",
                             rankOf(adaptor.getData()), " as data");
  return give(types, shapeOf(adaptor.getIndices()), elementOf(adaptor.getData()));
}

/// Dims of data that index tuples leave over; checks the batch dims.
static FailureOr<Shape> tupleRest(MaybeLocation place, ArrayRef<int64_t> data, ArrayRef<int64_t> indices,
                                  int64_t batch) {
  if (indices.empty() || batch < 0 || batch >= (int64_t)std::min(indices.size(), data.size() + 1))
    return emitOptionalError(place, "batch_dims ", batch, " does not fit indices [", indices, "]");
  int64_t tuple = indices.back();
  if (tuple < 0 || tuple + batch > (int64_t)data.size())
    return emitOptionalError(place, "index tuples of ", tuple, " do not fit data of rank ", data.size(),
                             " with ", batch, " batch dims");
  if (data.take_front(batch) != indices.take_front(batch))
    return emitOptionalError(place, "batch dims of data [", data, "] and indices [", indices, "] differ");
  return Shape(data.drop_front(batch + tuple));
}

LogicalResult GatherNDOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor,
                                           Types &types) {
  ArrayRef<int64_t> indices = shapeOf(adaptor.getIndices());
  auto rest = tupleRest(place, shapeOf(adaptor.getData()), indices, adaptor.getBatchDims());
  if (failed(rest))
    return failure();
  Shape shape(indices.drop_back());
  shape.append(*rest);
  return give(types, shape, elementOf(adaptor.getData()));
}

LogicalResult ScatterElementsOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor,
                                                  Types &types) {
  if (failed(normalizeAxis(place, adaptor.getAxis(), rankOf(adaptor.getData()))))
    return failure();
  if (shapeOf(adaptor.getIndices()) != shapeOf(adaptor.getUpdates()) ||
      rankOf(adaptor.getIndices()) != rankOf(adaptor.getData()))
    return emitOptionalError(place, "indices [", shapeOf(adaptor.getIndices()), "] and updates [",
                             shapeOf(adaptor.getUpdates()), "] should have one shape, of the rank of data [",
                             shapeOf(adaptor.getData()), "]");
  types.push_back(adaptor.getData().getType());
  return success();
}

LogicalResult ScatterNDOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor,
                                            Types &types) {
  ArrayRef<int64_t> indices = shapeOf(adaptor.getIndices());
  auto rest = tupleRest(place, shapeOf(adaptor.getData()), indices, 0);
  if (failed(rest))
    return failure();
  Shape shape(indices.drop_back());
  shape.append(*rest);
  if (shapeOf(adaptor.getUpdates()) != ArrayRef<int64_t>(shape))
    return emitOptionalError(place, "updates have shape [", shapeOf(adaptor.getUpdates()), "], expected [",
                             shape, "]");
  types.push_back(adaptor.getData().getType());
  return success();
}

LogicalResult RangeOp::inferReturnTypes(MLIRContext *, MaybeLocation, Adaptor adaptor, Types &types) {
  return give(types, {(int64_t)adaptor.getSize()}, elementOf(adaptor.getStart()));
}

LogicalResult TriluOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  if (rankOf(adaptor.getInput()) < 2)
    return emitOptionalError(place, "operand has rank ", rankOf(adaptor.getInput()), ", expected at least 2");
  types.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult OneHotOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  Shape shape(shapeOf(adaptor.getIndices()));
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis > (int64_t)shape.size())
    return emitOptionalError(place, "axis ", axis, " is out of range for rank ", shape.size() + 1);
  shape.insert(shape.begin() + axis, (int64_t)adaptor.getDepth());
  return give(types, shape, elementOf(adaptor.getOn()));
}

LogicalResult EyeLikeOp::inferReturnTypes(MLIRContext *, MaybeLocation, Adaptor adaptor, Types &types) {
  return give(types, adaptor.getShape(), adaptor.getDtype());
}

LogicalResult ReverseSequenceOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor,
                                                  Types &types) {
  if (failed(normalizeAxis(place, adaptor.getBatchAxis(), rankOf(adaptor.getInput()))) ||
      failed(normalizeAxis(place, adaptor.getTimeAxis(), rankOf(adaptor.getInput()))))
    return failure();
  types.push_back(adaptor.getInput().getType());
  return success();
}

LogicalResult ResizeOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor, Types &types) {
  if (failed(checkRank(place, adaptor.getSizes(), rankOf(adaptor.getX()), "sizes")))
    return failure();
  return give(types, adaptor.getSizes(), elementOf(adaptor.getX()));
}

LogicalResult GridSampleOp::inferReturnTypes(MLIRContext *, MaybeLocation place, Adaptor adaptor,
                                             Types &types) {
  ArrayRef<int64_t> x = shapeOf(adaptor.getX()), grid = shapeOf(adaptor.getGrid());
  if (x.size() < 3 || grid.size() != x.size() || grid.back() != (int64_t)x.size() - 2 || grid[0] != x[0])
    return emitOptionalError(place, "grid [", grid, "] does not fit X [", x, "]");
  Shape shape = {x[0], x[1]};
  shape.append(grid.begin() + 1, grid.end() - 1);
  return give(types, shape, elementOf(adaptor.getX()));
}
