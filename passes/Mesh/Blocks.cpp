#include "passes/Mesh/Blocks.h"
#include "lib/Dialect/Dist/CollectiveOps.h"
#include "lib/Dialect/ONNX/CoreOps.h"
#include "lib/Dialect/ONNX/Movement/MovementOps.h"
#include "lib/Dialect/ONNX/ShapeUtils.h"
#include "lib/Support/Statistics.h"
#include "lib/Support/StorageBytes.h"

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

void countSent(int64_t bytes) {
  addStatistic("kedge-localize", "collectives", 1);
  addStatistic("kedge-localize", "bytes sent", bytes);
}
} // namespace

Value BlockBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  return shapeOf(value) == shape ? value : onnx::ReshapeOp::create(builder, loc, value, shape).getResult();
}

Value BlockBuilder::transpose(Value value, ArrayRef<int64_t> perm) {
  return onnx::TransposeOp::create(builder, loc, value, perm);
}

Value BlockBuilder::flat(Value value) { return reshape(value, {tensorType(value).getNumElements()}); }

Value BlockBuilder::allReduce(Value value, StringRef kind) {
  constexpr int64_t kSmall = 4096; // elements that one op sends as fast
  const int64_t elements = tensorType(value).getNumElements();
  countSent(2 * bytesOf(value.getType()) * (ranks - 1) / ranks);
  if (kind != "sum" || elements <= kSmall)
    return dist::AllReduceOp::create(builder, loc, value, group, kind).getResult(0);
  auto parts = dist::ReduceScatterOp::create(builder, loc, ValueRange(value), group);
  return dist::AllGatherOp::create(builder, loc, TypeRange(value.getType()), parts.getOutputs(), group)
      .getResult(0);
}

Value BlockBuilder::offset(int64_t room) {
  SmallVector<int64_t> places;
  for (int64_t rank = 0; rank < ranks; ++rank)
    places.push_back(rank * room);
  auto type = RankedTensorType::get({ranks}, builder.getI64Type());
  Value all = onnx::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(places)));
  return dist::LocalShardOp::create(builder, loc, all, group).getResult(0);
}

/// The ranks' blocks in a row have the ranks as the outermost dimension, which goes to its place, section by
/// section.
Value BlockBuilder::gather(Value block, const Layout &layout) {
  SmallVector<int64_t> shape(shapeOf(block));
  const Folded own(shape, layout.dim);
  shape[layout.dim] *= ranks;
  const auto all = RankedTensorType::get({ranks, own.before, own.size, own.behind}, elementOf(block));
  countSent(bytesOf(all) * (ranks - 1) / ranks);
  Value blocks = dist::AllGatherOp::create(builder, loc, TypeRange(all), flat(block), group).getResult(0);
  Value rows = transpose(blocks, {1, 0, 2, 3});
  const SmallVector<int64_t> sections = sectionsOf(layout, shape[layout.dim]);
  if (sections.size() == 1)
    return reshape(rows, shape);
  SmallVector<int64_t> sizes;
  for (int64_t section : sections)
    sizes.push_back(section / ranks);
  SmallVector<Value> parts;
  for (auto [part, section] :
       llvm::zip(onnx::SplitOp::create(builder, loc, rows, 2, sizes).getOutputs(), sections))
    parts.push_back(reshape(part, {own.before, section, own.behind}));
  return reshape(onnx::ConcatOp::create(builder, loc, parts, 1), shape);
}

Value BlockBuilder::cut(Value whole, const Layout &layout) {
  SmallVector<int64_t> shape(shapeOf(whole));
  const Folded all(shape, layout.dim);
  const SmallVector<int64_t> sections = sectionsOf(layout, all.size);
  Value rows = reshape(whole, {all.before, all.size, all.behind});
  SmallVector<Value> parts = {rows};
  if (sections.size() > 1)
    parts = SmallVector<Value>(onnx::SplitOp::create(builder, loc, rows, 1, sections).getOutputs());
  for (auto [part, section] : llvm::zip(parts, sections))
    part = reshape(part, {all.before, ranks, section / ranks, all.behind});
  Value blocks = parts.size() == 1 ? parts[0] : onnx::ConcatOp::create(builder, loc, parts, 2).getResult();
  Value outermost = transpose(blocks, {1, 0, 2, 3});
  shape[layout.dim] /= ranks;
  return reshape(dist::LocalShardOp::create(builder, loc, outermost, group).getResult(0), shape);
}

} // namespace kedge::mesh
