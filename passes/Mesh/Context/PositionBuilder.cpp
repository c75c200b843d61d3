#include "passes/Mesh/Context/PositionBuilder.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;

namespace kedge::mesh {

/// Parts in the order of the ranks that have them: rank r's are r and 2 N - 1 - r.
static SmallVector<int64_t> zigzag(int64_t ranks) {
  SmallVector<int64_t> parts;
  for (int64_t rank = 0; rank < ranks; ++rank)
    parts.append({rank, 2 * ranks - 1 - rank});
  return parts;
}

/// Between the order of the row and that of the ranks.
Value PositionBuilder::reordered(Value whole, const Layout &layout, bool back) {
  if (!order.isZigzag)
    return whole;
  const SmallVector<int64_t> parts = zigzag(ranks);
  SmallVector<int64_t> from(parts);
  for (auto [at, part] : llvm::enumerate(parts))
    if (back)
      from[part] = static_cast<int64_t>(at);
  const SmallVector<int64_t> shape(shapeOf(whole));
  const int64_t outside = elementCount(ArrayRef(shape).take_front(layout.dim)) *
                          std::max<int64_t>(1, static_cast<int64_t>(layout.sections.size()));
  const int64_t inside = elementCount(shape) / (outside * 2 * ranks);
  auto type = RankedTensorType::get({2 * ranks}, builder.getI64Type());
  Value numbers =
      onnx::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(from)));
  Value rows = onnx::ReshapeOp::create(builder, loc, whole, ArrayRef<int64_t>{outside, 2 * ranks, inside});
  rows = onnx::GatherOp::create(builder, loc, rows, numbers, builder.getI64IntegerAttr(1), IntegerAttr());
  return onnx::ReshapeOp::create(builder, loc, rows, shape);
}

Value PositionBuilder::part(Value whole, const Layout &layout) {
  return cut(reordered(whole, layout, /*back=*/false), layout);
}

Value PositionBuilder::all(Value part, const Layout &layout, Type whole) {
  return reordered(gather(part, layout, whole), layout, /*back=*/true);
}

Value PositionBuilder::summed(Value summand, const Layout &wanted) {
  if (wanted.isCut())
    summand = reordered(summand, wanted, /*back=*/false);
  return BlockBuilder(builder, loc, order.group, {}, wanted).sum(summand, elementOf(summand));
}

Value PositionBuilder::offset(int64_t room) {
  if (!order.isZigzag)
    return BlockBuilder::offset(room);
  SmallVector<int64_t> places = zigzag(ranks);
  for (int64_t &place : places)
    place *= room / 2;
  auto type = RankedTensorType::get({2 * ranks}, builder.getI64Type());
  Value all = onnx::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(places)));
  return dist::LocalShardOp::create(builder, loc, all, order.group).getResult(0);
}

} // namespace kedge::mesh
