#include "passes/Mesh/Blocks.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Support/Statistics.h"

using namespace mlir;

namespace kedge::mesh {
namespace {

/// Sizes before the cut dimension, of it, and behind it, as one dimension each.
struct Folded {
  int64_t before = 1, size = 1, behind = 1;

  Folded(ArrayRef<int64_t> shape, int dim)
      : before(elementCount(shape.take_front(dim))), size(shape[dim]),
        behind(elementCount(shape.drop_front(dim + 1))) {}
};

SmallVector<int64_t> sectionsOf(const Layout &layout, int64_t size) {
  return layout.sections.empty() ? SmallVector<int64_t>{size} : layout.sections;
}

SmallVector<int64_t> roomsOf(const Layout &layout, int64_t size, int64_t ranks) {
  if (layout.isPadded())
    return layout.rooms;
  SmallVector<int64_t> rooms = sectionsOf(layout, size);
  for (int64_t &room : rooms)
    room /= ranks;
  return rooms;
}

} // namespace

Value BlockBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  return shapeOf(value) == shape ? value : onnx::ReshapeOp::create(builder, loc, value, shape).getResult();
}

/// The first two of four dims; one of size 1 moves without a copy.
Value BlockBuilder::exchanged(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (shape[0] == 1 || shape[1] == 1)
    return reshape(value, {shape[1], shape[0], shape[2], shape[3]});
  return onnx::TransposeOp::create(builder, loc, value, ArrayRef<int64_t>{1, 0, 2, 3});
}

Value BlockBuilder::flat(Value value) { return reshape(value, {tensorType(value).getNumElements()}); }

Value BlockBuilder::cast(Value value, Type element) {
  return elementOf(value) == element
             ? value
             : onnx::CastOp::create(builder, loc, value, TypeAttr::get(element)).getResult();
}

Value BlockBuilder::sumOverRanks(Value value) { return allSum(value, elementOf(value)); }
Value BlockBuilder::maximumOverRanks(Value value) {
  return dist::AllReduceOp::create(builder, loc, value, group, dist::ReduceKind::Max).getResult(0);
}

/// Parts of large sums are rounded before they are gathered.
Value BlockBuilder::allSum(Value partial, Type element) {
  constexpr int64_t kSmall = 4096; // elements that one op sends as fast
  if (tensorType(partial).getNumElements() <= kSmall)
    return cast(dist::AllReduceOp::create(builder, loc, partial, group, dist::ReduceKind::Sum).getResult(0),
                element);
  auto parts = dist::ReduceScatterOp::create(builder, loc, ValueRange(partial), group);
  return dist::AllGatherOp::create(builder, loc, TypeRange(tensorType(partial).clone(element)),
                                   ValueRange(cast(parts.getResult(0), element)), group)
      .getResult(0);
}

Value BlockBuilder::scatteredSum(Value partial, Type element) {
  auto own =
      dist::ReduceScatterOp::create(builder, loc, ValueRange(blocksOutermost(partial, scatter)), group);
  return cast(reshape(own.getResult(0), blockOf(partial.getType(), scatter, ranks).getShape()), element);
}

Value BlockBuilder::addend(Value whole, Value partial) {
  const int64_t dim = scatter.dim - (rankOf(partial) - rankOf(whole));
  if (!scatter.isCut() || dim < 0 || shapeOf(whole)[dim] != shapeOf(partial)[scatter.dim])
    return whole;
  return cut(whole, {static_cast<int>(dim), scatter});
}

Value BlockBuilder::sum(Value partial, Type element) {
  Value sum = scatter.isCut() ? scatteredSum(partial, element) : allSum(partial, element);
  if (partials)
    (*partials)[sum] = {partial, scatter};
  return sum;
}

Value BlockBuilder::offset(int64_t room) {
  SmallVector<int64_t> places;
  for (int64_t rank = 0; rank < ranks; ++rank)
    places.push_back(rank * room);
  auto type = RankedTensorType::get({ranks}, builder.getI64Type());
  Value all = onnx::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(places)));
  return dist::LocalShardOp::create(builder, loc, all, group).getResult(0);
}

/// Of three dims, the first elements of the second. Where bits are those of one rank they are moved, as one
/// rank has them: a sum that read them in their old place might add in another order.
Value BlockBuilder::first(Value rows, int64_t count) {
  ArrayRef<int64_t> shape = shapeOf(rows);
  if (shape[1] == count)
    return rows;
  if (dist::partsOf(builder.getInsertionBlock()->getParentOp()) > 0)
    return onnx::SplitOp::create(builder, loc, rows, 1, ArrayRef<int64_t>{count, shape[1] - count})
        .getOutputs()
        .front();
  return onnx::SliceOp::create(builder, loc, rows, ArrayRef<int64_t>{0, 0, 0},
                               ArrayRef<int64_t>{shape[0], count, shape[2]}, ArrayRef<int64_t>{1, 1, 1});
}

/// Zeros behind the second of three dims.
Value BlockBuilder::filledUp(Value rows, int64_t count) {
  const int64_t missing = count - shapeOf(rows)[1];
  if (missing == 0)
    return rows;
  return onnx::PadOp::create(builder, loc, rows, Value(), onnx::PadMode::Constant,
                             ArrayRef<int64_t>{0, 0, 0, 0, missing, 0});
}

Value BlockBuilder::padded(Value block, const Layout &layout, Type whole, double number) {
  if (!layout.isCut() || !layout.isPadded())
    return block;
  const int64_t size = mlir::cast<RankedTensorType>(whole).getDimSize(layout.dim);
  SmallVector<bool> isReal;
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (auto [section, room] : llvm::zip(sectionsOf(layout, size), layout.rooms))
      for (int64_t i = 0; i < room; ++i)
        isReal.push_back(rank * room + i < section);
  auto type = RankedTensorType::get({static_cast<int64_t>(isReal.size())}, builder.getI1Type());
  Value all = onnx::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<bool>(isReal)));
  Value own = dist::LocalShardOp::create(builder, loc, all, group).getResult(0);
  SmallVector<int64_t> shape(rankOf(block) - layout.dim, 1);
  shape[0] = shapeOf(block)[layout.dim];
  const auto element = elementOf(block);
  Attribute fill = isa<FloatType>(element) ? Attribute(builder.getFloatAttr(element, number))
                                           : builder.getIntegerAttr(element, static_cast<int64_t>(number));
  Value filling = onnx::ConstantOp::create(builder, loc,
                                           DenseElementsAttr::get(RankedTensorType::get({}, element), fill));
  return onnx::WhereOp::create(builder, loc, reshape(own, shape), block, filling);
}

/// The ranks' blocks in a row have the ranks as the outermost dimension, which goes to its place, section by
/// section.
Value BlockBuilder::gather(Value block, const Layout &layout, Type whole) {
  ArrayRef<int64_t> shape = mlir::cast<RankedTensorType>(whole).getShape();
  const Folded own(shapeOf(block), layout.dim);
  const auto all = RankedTensorType::get({ranks, own.before, own.size, own.behind}, elementOf(block));
  Value blocks = dist::AllGatherOp::create(builder, loc, TypeRange(all), flat(block), group).getResult(0);
  Value rows = exchanged(blocks);
  const SmallVector<int64_t> sections = sectionsOf(layout, shape[layout.dim]);
  if (sections.size() == 1 && !layout.isPadded())
    return reshape(rows, shape);
  const SmallVector<int64_t> rooms = roomsOf(layout, shape[layout.dim], ranks);
  SmallVector<Value> parts = {rows};
  if (sections.size() > 1)
    parts = SmallVector<Value>(onnx::SplitOp::create(builder, loc, rows, 2, rooms).getOutputs());
  for (auto [part, section, room] : llvm::zip(parts, sections, rooms))
    part = first(reshape(part, {own.before, ranks * room, own.behind}), section);
  if (parts.size() == 1)
    return reshape(parts[0], shape);
  return reshape(onnx::ConcatOp::create(builder, loc, parts, 1), shape);
}

/// The ranks' blocks in a row.
Value BlockBuilder::blocksOutermost(Value whole, const Layout &layout) {
  const Folded all(shapeOf(whole), layout.dim);
  const SmallVector<int64_t> sections = sectionsOf(layout, all.size);
  Value rows = reshape(whole, {all.before, all.size, all.behind});
  SmallVector<Value> parts = {rows};
  if (sections.size() > 1)
    parts = SmallVector<Value>(onnx::SplitOp::create(builder, loc, rows, 1, sections).getOutputs());
  for (auto [part, room] : llvm::zip(parts, roomsOf(layout, all.size, ranks)))
    part = reshape(filledUp(part, ranks * room), {all.before, ranks, room, all.behind});
  Value blocks = parts.size() == 1 ? parts[0] : onnx::ConcatOp::create(builder, loc, parts, 2).getResult();
  return exchanged(blocks);
}

Value BlockBuilder::cut(Value whole, const Layout &layout) {
  Value own = dist::LocalShardOp::create(builder, loc, blocksOutermost(whole, layout), group).getResult(0);
  return reshape(own, blockOf(whole.getType(), layout, ranks).getShape());
}

} // namespace kedge::mesh
