// Ops whose result's size hangs on values: only with values known at compile time.
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include <map>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

/// Operand k as numbers: integers are exact to 53 bits.
static SmallVector<double> numbersOf(NodeContext &node, size_t k, StringRef what) {
  return *node.constantFloats(k, what);
}

static void importNonZero(NodeContext &node) {
  Dims shape(shapeOf(node.require(0)));
  SmallVector<double> values = numbersOf(node, 0, "the operand, whose values decide the shape,");
  std::vector<int64_t> found;
  for (auto [i, value] : llvm::enumerate(values))
    if (value != 0)
      found.push_back(i);
  std::vector<int64_t> indices; // [rank, found]
  int64_t stride = values.size();
  for (int64_t size : shape) {
    stride = size ? stride / size : 0;
    for (int64_t place : found)
      indices.push_back(place / stride % size);
  }
  node.setResult(0, node.constantTensor(model::Tensor::makeInts(
                        "", {(int64_t)shape.size(), (int64_t)found.size()}, indices)));
}

/// The operand flattened when there is no axis attribute; sets `axis`.
static Value alongAxis(NodeContext &node, int64_t &axis) {
  Value data = node.require(0);
  axis = node.node.has("axis") ? axisOf(node, node.node.attrInt("axis"), rankOf(data)) : 0;
  return node.node.has("axis") ? data : reshape(node.builder, node.loc, data, {elementCount(shapeOf(data))});
}

static Value gatherAt(NodeContext &node, Value data, ArrayRef<int64_t> places, int64_t axis) {
  return onnx::GatherOp::create(node.builder, node.loc, data, node.constantInts1d(places),
                                node.builder.getI64IntegerAttr(axis), IntegerAttr());
}

static void importCompress(NodeContext &node) {
  int64_t axis = 0;
  Value data = alongAxis(node, axis);
  auto condition = node.constantInts(1, "the condition, which decides the shape,");
  if (!condition || (int64_t)condition->size() > shapeOf(data)[axis])
    node.fail("expected a condition of at most {} elements", shapeOf(data)[axis]);
  Dims places;
  for (auto [i, keep] : llvm::enumerate(*condition))
    if (keep)
      places.push_back(i);
  node.setResult(0, gatherAt(node, data, places, axis));
}

static void importUnique(NodeContext &node) {
  int64_t axis = 0;
  Value data = alongAxis(node, axis);
  ArrayRef<int64_t> shape = shapeOf(data);
  SmallVector<double> values = numbersOf(node, 0, "the operand, whose values decide the shape,");
  int64_t inner = elementCount(shape.drop_front(axis + 1)), count = shape[axis];
  // One key a slice along the axis, in the order in which numpy compares slices.
  std::map<std::vector<double>, int64_t> groupOf;
  std::vector<std::vector<double>> keys(count);
  for (auto [i, value] : llvm::enumerate(values))
    keys[i / inner % count].push_back(value);
  Dims first, group(count), counts;
  for (int64_t i = 0; i < count; ++i) {
    auto [entry, isNew] = groupOf.emplace(keys[i], first.size());
    group[i] = entry->second;
    if (isNew) {
      first.push_back(i);
      counts.push_back(0);
    }
    ++counts[group[i]];
  }
  Dims order = firstDims(first.size()), rank(first.size());
  if (node.node.attrBool("sorted", true))
    llvm::sort(order, [&](int64_t a, int64_t b) { return keys[first[a]] < keys[first[b]]; });
  Dims orderedFirst, orderedCounts;
  for (auto [place, g] : llvm::enumerate(order)) {
    rank[g] = place;
    orderedFirst.push_back(first[g]);
    orderedCounts.push_back(counts[g]);
  }
  for (int64_t &g : group)
    g = rank[g];
  node.setResult(0, gatherAt(node, data, orderedFirst, axis));
  node.setResult(1, node.constantInts1d(orderedFirst));
  node.setResult(2, node.constantInts1d(group));
  node.setResult(3, node.constantInts1d(orderedCounts));
}

void kedge::importer::registerSelectionImporters(NodeImporters &importers) {
  importers.add("NonZero", importNonZero);
  importers.add("Compress", importCompress);
  importers.add("Unique", importUnique);
}
