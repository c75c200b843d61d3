#include "lib/Import/Build/MovementUtils.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

Value kedge::importer::reshape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  if (auto inner = value.getDefiningOp<onnx::ReshapeOp>(); inner && shapeOf(value) != shape)
    value = inner.getData();
  if (shapeOf(value) == shape)
    return value;
  return onnx::ReshapeOp::create(builder, loc, value, shape);
}

Value kedge::importer::transpose(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> perm) {
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

Value kedge::importer::expand(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return onnx::ExpandOp::create(builder, loc, value, shape);
}

Value kedge::importer::sliceAxis(OpBuilder &builder, Location loc, Value value, int64_t axis, int64_t start,
                                 int64_t end) {
  if (start == 0 && end == shapeOf(value)[axis])
    return value;
  SmallVector<int64_t> starts(rankOf(value), 0), ends(shapeOf(value)), steps(rankOf(value), 1);
  starts[axis] = start;
  ends[axis] = end;
  return onnx::SliceOp::create(builder, loc, value, starts, ends, steps);
}

Value kedge::importer::constantNumbers(NodeContext &node, Type element, ArrayRef<int64_t> shape,
                                       ArrayRef<double> values) {
  SmallVector<Attribute> numbers;
  for (double value : values)
    numbers.push_back(isa<FloatType>(element) ? Attribute(FloatAttr::get(element, value))
                                              : IntegerAttr::get(element, static_cast<int64_t>(value)));
  auto type = RankedTensorType::get(shape, element);
  return onnx::ConstantOp::create(node.builder, node.loc, DenseElementsAttr::get(type, numbers));
}

Dims kedge::importer::firstDims(int64_t count) { return llvm::to_vector(llvm::seq<int64_t>(0, count)); }

Dims kedge::importer::without(ArrayRef<int64_t> shape, int64_t axis) {
  Dims rest(shape);
  rest.erase(rest.begin() + axis);
  return rest;
}

Value kedge::importer::concat(OpBuilder &builder, Location loc, ValueRange parts, int64_t axis) {
  auto hasElements = [](Value part) { return elementCount(shapeOf(part)) != 0; };
  auto kept = llvm::to_vector(llvm::make_filter_range(parts, hasElements));
  // Parts must agree in their other dimensions: what has no elements along another axis, too, is Concat's
  // error.
  if (kept.empty() || llvm::any_of(parts, [&](Value part) {
        return without(shapeOf(part), axis) != without(shapeOf(kept[0]), axis);
      }))
    kept.assign(parts.begin(), parts.end());
  return kept.size() == 1 ? kept[0] : Value(onnx::ConcatOp::create(builder, loc, kept, axis));
}

Value kedge::importer::padConstant(OpBuilder &builder, Location loc, Value value, Value constant,
                                   ArrayRef<int64_t> pads) {
  int64_t rank = rankOf(value);
  if (llvm::all_of(pads, [](int64_t pad) { return pad == 0; }))
    return value;
  if (llvm::any_of(pads, [](int64_t pad) { return pad > 0; }))
    return onnx::PadOp::create(builder, loc, value, constant, onnx::PadMode::Constant, pads);
  Dims starts, ends, steps(rank, 1);
  for (int64_t i = 0; i < rank; ++i) {
    starts.push_back(-pads[i]);
    ends.push_back(std::max(-pads[i], shapeOf(value)[i] + pads[rank + i]));
  }
  return onnx::SliceOp::create(builder, loc, value, starts, ends, steps);
}

int64_t kedge::importer::axisOf(NodeContext &node, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    node.fail("axis {} is out of range: expected one of [{}, {}]", axis, -rank, rank - 1);
  return axis < 0 ? axis + rank : axis;
}

std::optional<Dims> kedge::importer::intsOf(NodeContext &node, StringRef attribute, size_t operand) {
  if (auto values = node.node.attrIntsIf(std::string_view(attribute)))
    return Dims(values->begin(), values->end());
  return node.constantInts(operand, attribute);
}
