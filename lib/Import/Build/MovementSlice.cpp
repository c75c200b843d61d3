// Slices and pads.
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

/// Axes normalised, or the first `count` ones; each at most once.
static Dims axesOf(NodeContext &node, const std::optional<Dims> &given, size_t count, int64_t rank) {
  Dims axes;
  llvm::BitVector seen(rank);
  for (size_t k = 0; k < count; ++k) {
    if (given && k >= given->size())
      node.fail("axes has {} entries, expected {}", given->size(), count);
    int64_t axis = axisOf(node, given ? (*given)[k] : (int64_t)k, rank);
    if (seen[axis])
      node.fail("axis {} is named twice", axis);
    seen[axis] = true;
    axes.push_back(axis);
  }
  return axes;
}

static int64_t clamp(int64_t at, int64_t low, int64_t high) { return std::min(std::max(at, low), high); }

static void importSlice(NodeContext &node) {
  Value data = node.require(0);
  ArrayRef<int64_t> shape = shapeOf(data);
  auto starts = intsOf(node, "starts", 1), ends = intsOf(node, "ends", 2);
  if (!starts || !ends || starts->size() != ends->size())
    node.fail("starts and ends should be two lists of one length");
  Dims axes = axesOf(node, intsOf(node, "axes", 3), starts->size(), shape.size());
  auto steps = node.constantInts(4, "steps");
  Dims allStarts(shape.size(), 0), allEnds(shape), allSteps(shape.size(), 1);
  for (auto [k, axis] : llvm::enumerate(axes)) {
    int64_t size = shape[axis], step = steps ? (*steps)[k] : 1;
    if (step == 0)
      node.fail("the step of axis {} is 0", axis);
    // Negative places count from the end; those far below are clamped, so no sum overflows.
    auto place = [&](int64_t at) { return at < 0 ? std::max(at, -size - 1) + size : std::min(at, size); };
    int64_t start = place((*starts)[k]), end = place((*ends)[k]);
    allStarts[axis] = step > 0 ? clamp(start, 0, size) : clamp(start, 0, size - 1);
    allEnds[axis] = step > 0 ? clamp(end, allStarts[axis], size) : clamp(end, -1, size - 1);
    allSteps[axis] = step;
    if (step < 0 && (size == 0 || allEnds[axis] >= allStarts[axis])) { // empty
      allStarts[axis] = allEnds[axis] = 0;
      allSteps[axis] = 1;
    } else if (allEnds[axis] == -1) {
      allEnds[axis] = -(size + 1);
    }
  }
  bool whole = ArrayRef<int64_t>(allEnds) == shape &&
               llvm::all_of(allStarts, [](int64_t s) { return s == 0; }) &&
               llvm::all_of(allSteps, [](int64_t s) { return s == 1; });
  node.setResult(
      0, whole ? data : onnx::SliceOp::create(node.builder, node.loc, data, allStarts, allEnds, allSteps));
}

/// The value that constant padding writes; null for zero.
static Value padValue(NodeContext &node, Value data) {
  if (node.opset() >= 11)
    return node.operand(2);
  float value = node.node.attrFloat("value", 0);
  return value == 0 ? Value() : scalarLike(node.builder, node.loc, data, value);
}

static void importPad(NodeContext &node) {
  Value data = node.require(0);
  int64_t rank = rankOf(data);
  auto pads = node.opset() < 2 ? intsOf(node, "paddings", 1) : intsOf(node, "pads", 1);
  if (!pads)
    node.fail("pads are missing");
  auto given = node.constantInts(3, "axes");
  Dims axes = axesOf(node, given, given ? given->size() : rank, rank);
  if (pads->size() != 2 * axes.size())
    node.fail("pads has {} entries, expected {}", pads->size(), 2 * axes.size());
  Dims all(2 * rank, 0);
  for (auto [k, axis] : llvm::enumerate(axes)) {
    all[axis] = (*pads)[k];
    all[rank + axis] = (*pads)[axes.size() + k];
  }
  const auto mode = node.word("mode", onnx::PadMode::Constant);
  if (mode == onnx::PadMode::Constant)
    return node.setResult(0, padConstant(node.builder, node.loc, data, padValue(node, data), all));
  node.setResult(0, onnx::PadOp::create(node.builder, node.loc, data, Value(), mode, all));
}

static void importCenterCropPad(NodeContext &node) {
  Value data = node.require(0);
  int64_t rank = rankOf(data);
  auto sizes = node.constantInts(1, "shape");
  if (!sizes)
    node.fail("the shape is missing");
  std::optional<Dims> given;
  if (auto axes = node.node.attrIntsIf("axes"))
    given.emplace(axes->begin(), axes->end());
  Dims axes = axesOf(node, given, sizes->size(), rank), pads(2 * rank, 0);
  for (auto [axis, size] : llvm::zip(axes, *sizes)) {
    // The odd element is at the end, both when adding and when cropping.
    int64_t more = size - shapeOf(data)[axis], before = more >= 0 ? more / 2 : -(-more / 2);
    pads[axis] = before;
    pads[rank + axis] = more - before;
  }
  node.setResult(0, padConstant(node.builder, node.loc, data, Value(), pads));
}

void kedge::importer::registerSliceImporters(NodeImporters &importers) {
  importers.add("Slice", importSlice);
  importers.add("Pad", importPad);
  importers.add("CenterCropPad", importCenterCropPad);
}
