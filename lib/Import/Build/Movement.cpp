// Reshapes, permutations, joins and splits, from any opset to the canonical ops.
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

static void giveReshaped(NodeContext &node, ArrayRef<int64_t> shape) {
  node.setResult(0, reshape(node.builder, node.loc, node.require(0), shape));
}

static void importReshape(NodeContext &node) {
  ArrayRef<int64_t> from = shapeOf(node.require(0));
  auto wanted = intsOf(node, "shape", 1);
  if (!wanted)
    node.fail("the new shape is missing");
  bool keepZero = node.node.attrBool("allowzero", false);
  int64_t known = 1, inferred = -1;
  for (auto [i, size] : llvm::enumerate(*wanted)) {
    if (size == 0 && !keepZero) {
      if (i >= from.size())
        node.fail("dimension {} of the new shape copies one that the operand [{}] lacks", i,
                  fmt::join(from, " x "));
      size = from[i];
    }
    if (size == -1 && inferred >= 0)
      node.fail("the new shape [{}] has more than one -1", fmt::join(*wanted, " x "));
    if (size == -1)
      inferred = i;
    else
      known *= size;
  }
  if (inferred >= 0) {
    int64_t count = elementCount(from);
    if (known == 0 || count % known != 0)
      node.fail("cannot reshape [{}] to [{}]: {} elements are no multiple of {}", fmt::join(from, " x "),
                fmt::join(*wanted, " x "), count, known);
    (*wanted)[inferred] = count / known;
  }
  giveReshaped(node, *wanted);
}

static void importFlatten(NodeContext &node) {
  ArrayRef<int64_t> shape = shapeOf(node.require(0));
  int64_t rank = shape.size(), axis = node.node.attrInt("axis", 1);
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank)
    node.fail("axis {} is out of range for rank {}", node.node.attrInt("axis", 1), rank);
  giveReshaped(node, {elementCount(shape.take_front(axis)), elementCount(shape.drop_front(axis))});
}

static void importSqueeze(NodeContext &node) {
  ArrayRef<int64_t> shape = shapeOf(node.require(0));
  auto axes = intsOf(node, "axes", 1);
  llvm::BitVector dropped(shape.size());
  if (!axes)
    for (auto [i, size] : llvm::enumerate(shape))
      dropped[i] = size == 1;
  else
    for (int64_t axis : *axes) {
      axis = axisOf(node, axis, shape.size());
      if (shape[axis] != 1)
        node.fail("cannot squeeze dimension {} of [{}]: its size is not 1", axis, fmt::join(shape, " x "));
      dropped[axis] = true;
    }
  Dims rest;
  for (auto [i, size] : llvm::enumerate(shape))
    if (!dropped[i])
      rest.push_back(size);
  giveReshaped(node, rest);
}

static void importUnsqueeze(NodeContext &node) {
  ArrayRef<int64_t> shape = shapeOf(node.require(0));
  auto axes = intsOf(node, "axes", 1);
  if (!axes)
    node.fail("axes are missing");
  int64_t rank = shape.size() + axes->size();
  Dims result(rank, -1);
  for (int64_t axis : *axes)
    if (std::exchange(result[axisOf(node, axis, rank)], 1) == 1)
      node.fail("axes [{}] name a dimension twice", fmt::join(*axes, ", "));
  for (int64_t &size : result)
    if (size == -1) {
      size = shape.front();
      shape = shape.drop_front();
    }
  giveReshaped(node, result);
}

static void importTranspose(NodeContext &node) {
  Value data = node.require(0);
  Dims perm(llvm::reverse(firstDims(rankOf(data))));
  if (auto given = node.node.attrIntsIf("perm"))
    perm.assign(given->begin(), given->end());
  if (perm.size() != (size_t)rankOf(data))
    node.fail("perm has {} entries for an operand of rank {}", perm.size(), rankOf(data));
  for (int64_t &axis : perm)
    axis = axisOf(node, axis, perm.size());
  node.setResult(0, transpose(node.builder, node.loc, data, perm));
}

static void importExpand(NodeContext &node) {
  Value input = node.require(0);
  auto shape = node.constantInts(1, "shape");
  if (!shape)
    node.fail("the shape is missing");
  auto result = broadcastShapes(std::nullopt, {shapeOf(input), *shape});
  if (failed(result))
    node.fail("cannot expand [{}] to [{}]", fmt::join(shapeOf(input), " x "), fmt::join(*shape, " x "));
  node.setResult(0, expand(node.builder, node.loc, input, *result));
}

static void importTile(NodeContext &node) {
  Value input = node.require(0);
  int64_t rank = rankOf(input);
  auto repeats = node.constantInts(1, "repeats");
  if (!repeats)
    node.fail("repeats are missing");
  if (node.opset() < 6) { // one axis
    auto axis = node.constantInts(2, "axis");
    Dims all(rank, 1);
    all[axisOf(node, axis ? axis->front() : 0, rank)] = repeats->front();
    repeats = all;
  }
  if ((int64_t)repeats->size() != rank)
    node.fail("repeats has {} entries for an operand of rank {}", repeats->size(), rank);
  Dims shape;
  bool onlyOnes = true;
  for (auto [size, repeat] : llvm::zip(shapeOf(input), *repeats)) {
    shape.push_back(size * repeat);
    onlyOnes &= repeat == 1 || size == 1;
  }
  if (onlyOnes && !llvm::is_contained(*repeats, 0))
    return node.setResult(0, expand(node.builder, node.loc, input, shape));
  node.setResult(0, onnx::TileOp::create(node.builder, node.loc, input, *repeats));
}

static void importConcat(NodeContext &node) {
  SmallVector<Value> parts = node.operands();
  if (parts.empty() || llvm::is_contained(parts, Value()))
    node.fail("expected at least one operand and none omitted");
  int64_t axis = node.opset() < 4 ? node.node.attrInt("axis", 1) : node.node.attrInt("axis");
  axis = axisOf(node, axis, rankOf(parts[0]));
  node.setResult(0, concat(node.builder, node.loc, parts, axis));
}

static void importSplit(NodeContext &node) {
  Value input = node.require(0);
  int64_t axis = axisOf(node, node.node.attrInt("axis", 0), rankOf(input)), size = shapeOf(input)[axis];
  auto sizes = intsOf(node, "split", 1);
  if (!sizes) {
    int64_t count = node.node.outputs.size();
    if (node.node.has("num_outputs") && node.node.attrInt("num_outputs") != count)
      node.fail("num_outputs is {}, but the node has {} outputs", node.node.attrInt("num_outputs"), count);
    if (size % count != 0 && node.opset() < 18)
      node.fail("dimension {} of size {} does not split into {} equal parts", axis, size, count);
    int64_t part = (size + count - 1) / count;
    sizes.emplace(count, part);
    for (int64_t k = 0, left = size; k < count; ++k, left -= (*sizes)[k - 1])
      (*sizes)[k] = std::min(part, left);
  }
  if (sizes->size() != node.node.outputs.size())
    node.fail("splits into {} parts, but has {} outputs", sizes->size(), node.node.outputs.size());
  if (sizes->size() == 1 && sizes->front() == size)
    return node.setResult(0, input);
  node.setResults(onnx::SplitOp::create(node.builder, node.loc, input, axis, *sizes).getOutputs());
}

static void importDepthToSpace(NodeContext &node) {
  Value x = node.require(0);
  ArrayRef<int64_t> s = shapeOf(x);
  int64_t block = node.node.attrInt("blocksize");
  if (s.size() != 4 || block <= 0 || s[1] % (block * block) != 0)
    node.fail("blocks of {} do not fit an operand [{}]", block, fmt::join(s, " x "));
  int64_t depth = s[1] / (block * block);
  bool columnRow = node.node.attrString("mode", "DCR") == "CRD";
  Dims apart =
      columnRow ? Dims{s[0], depth, block, block, s[2], s[3]} : Dims{s[0], block, block, depth, s[2], s[3]};
  Dims perm = columnRow ? Dims{0, 1, 4, 2, 5, 3} : Dims{0, 3, 4, 1, 5, 2};
  Value moved = transpose(node.builder, node.loc, reshape(node.builder, node.loc, x, apart), perm);
  node.setResult(0, reshape(node.builder, node.loc, moved, {s[0], depth, s[2] * block, s[3] * block}));
}

/// CRD: the inverse of DepthToSpace's.
static void importSpaceToDepth(NodeContext &node) {
  Value x = node.require(0);
  ArrayRef<int64_t> s = shapeOf(x);
  int64_t block = node.node.attrInt("blocksize");
  if (s.size() != 4 || block <= 0 || s[2] % block != 0 || s[3] % block != 0)
    node.fail("blocks of {} do not fit an operand [{}]", block, fmt::join(s, " x "));
  bool columnRow = node.node.attrString("mode", "DCR") == "CRD";
  int64_t height = s[2] / block, width = s[3] / block;
  Value apart = reshape(node.builder, node.loc, x, {s[0], s[1], height, block, width, block});
  Dims perm = columnRow ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4};
  Value moved = transpose(node.builder, node.loc, apart, perm);
  node.setResult(0, reshape(node.builder, node.loc, moved, {s[0], s[1] * block * block, height, width}));
}

void kedge::importer::registerShapeImporters(NodeImporters &importers) {
  importers.add("Reshape", importReshape);
  importers.add("Flatten", importFlatten);
  importers.add("Squeeze", importSqueeze);
  importers.add("Unsqueeze", importUnsqueeze);
  importers.add("Transpose", importTranspose);
  importers.add("Expand", importExpand);
  importers.add("Tile", importTile);
  importers.add("Concat", importConcat);
  importers.add("Split", importSplit);
  importers.add("DepthToSpace", importDepthToSpace);
  importers.add("SpaceToDepth", importSpaceToDepth);
}

void kedge::importer::registerMovementImporters(NodeImporters &importers) {
  registerShapeImporters(importers);
  registerSliceImporters(importers);
  registerGatherImporters(importers);
  registerGeneratorImporters(importers);
  registerResizeImporters(importers);
  registerSelectionImporters(importers);
  registerEinsumImporter(importers);
  registerLoopImporter(importers);
  registerGeometryImporters(importers);
  registerBoxImporters(importers);
  registerDeformConvImporter(importers);
}
