// Sequences are lists of values at import; none reaches the IR. Positions must be known at compile time.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Import/NodeImporter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

using Sequence = SmallVector<Value>;

static void setSequence(NodeContext &node, Sequence sequence) {
  node.setResult(0, ImportedValue{Value(), std::move(sequence)});
}

/// Operand k as a place in [0, bound), negative ones counted from the end.
static int64_t positionOf(NodeContext &node, size_t k, int64_t size, int64_t bound) {
  auto position = node.constantInts(k, "position");
  if (!position || position->size() != 1)
    node.fail("the position should be one integer");
  int64_t at = (*position)[0] < 0 ? (*position)[0] + size : (*position)[0];
  if (at < 0 || at >= bound)
    node.fail("position {} is out of range for a sequence of {}", (*position)[0], size);
  return at;
}

static SmallVector<int64_t> partSizes(NodeContext &node, int64_t size) {
  auto split = node.constantInts(1, "split");
  if (!split)
    return SmallVector<int64_t>(size, 1);
  if (rankOf(node.operand(1)) == 1)
    return *split;
  int64_t part = (*split)[0];
  if (part <= 0)
    node.fail("split is {}, expected a positive size", part);
  SmallVector<int64_t> sizes;
  for (int64_t at = 0; at < size; at += part)
    sizes.push_back(std::min(part, size - at));
  return sizes;
}

static void importSplitToSequence(NodeContext &node) {
  Value input = node.require(0);
  int64_t axis = axisOf(node, node.node.attrInt("axis", 0), rankOf(input));
  SmallVector<int64_t> sizes = partSizes(node, shapeOf(input)[axis]);
  Sequence parts;
  if (!sizes.empty())
    llvm::append_range(parts, onnx::SplitOp::create(node.builder, node.loc, input, axis, sizes).getOutputs());
  if (!node.has(1) && !node.node.attrBool("keepdims", true))
    for (Value &part : parts)
      part = reshape(node.builder, node.loc, part, without(shapeOf(part), axis));
  setSequence(node, std::move(parts));
}

static void importSequenceAt(NodeContext &node) {
  Sequence sequence = node.sequence(0);
  int64_t size = sequence.size();
  node.setResult(0, sequence[positionOf(node, 1, size, size)]);
}

static void importSequenceConstruct(NodeContext &node) { setSequence(node, node.operands()); }

static void importSequenceEmpty(NodeContext &node) { setSequence(node, {}); }

static void importSequenceInsert(NodeContext &node) {
  Sequence sequence = node.sequence(0);
  int64_t size = sequence.size();
  int64_t at = node.has(2) ? positionOf(node, 2, size, size + 1) : size;
  sequence.insert(sequence.begin() + at, node.require(1));
  setSequence(node, std::move(sequence));
}

static void importSequenceErase(NodeContext &node) {
  Sequence sequence = node.sequence(0);
  int64_t size = sequence.size();
  if (size == 0)
    node.fail("the sequence is empty");
  sequence.erase(sequence.begin() + (node.has(1) ? positionOf(node, 1, size, size) : size - 1));
  setSequence(node, std::move(sequence));
}

static void importSequenceLength(NodeContext &node) {
  auto type = RankedTensorType::get({}, node.builder.getI64Type());
  auto length = DenseElementsAttr::get(type, ArrayRef<int64_t>{(int64_t)node.sequence(0).size()});
  node.setResult(0, onnx::ConstantOp::create(node.builder, node.loc, length));
}

static void importConcatFromSequence(NodeContext &node) {
  Sequence sequence = node.sequence(0);
  if (sequence.empty())
    node.fail("the sequence is empty");
  bool newAxis = node.node.attrBool("new_axis", false);
  int64_t axis = axisOf(node, node.node.attrInt("axis"), rankOf(sequence[0]) + newAxis);
  if (newAxis)
    for (Value &part : sequence) {
      SmallVector<int64_t> shape(shapeOf(part));
      shape.insert(shape.begin() + std::min<int64_t>(axis, shape.size()), 1);
      part = reshape(node.builder, node.loc, part, shape);
    }
  node.setResult(0, onnx::ConcatOp::create(node.builder, node.loc, sequence, axis));
}

/// The body once for each element; the other operands are sequences of as many, or tensors for all.
static void importSequenceMap(NodeContext &node) {
  const model::Graph &body = node.node.attrGraph("body");
  const size_t count = node.sequence(0).size();
  std::vector<Sequence> results(body.outputs.size());
  for (size_t element = 0; element < count; ++element) {
    SmallVector<ImportedValue> inputs;
    for (size_t k = 0; k < node.operandCount(); ++k) {
      ImportedValue input = node.imported(k);
      if (input.sequence && input.sequence->size() != count)
        node.fail("input {} is a sequence of {}, expected as many as input 0 has: {}", k,
                  input.sequence->size(), count);
      inputs.push_back(input.sequence ? ImportedValue{(*input.sequence)[element]} : input);
    }
    for (auto [k, value] : llvm::enumerate(node.importSubgraph(body, inputs))) {
      if (value.sequence)
        node.fail("output {} of the body is a sequence, expected a tensor", k);
      results[k].push_back(value.tensor);
    }
  }
  for (auto [k, result] : llvm::enumerate(results))
    node.setResult(k, ImportedValue{Value(), std::move(result)});
}

void kedge::importer::registerSequenceImporters(NodeImporters &importers) {
  importers.add("SplitToSequence", importSplitToSequence);
  importers.add("SequenceAt", importSequenceAt);
  importers.add("SequenceConstruct", importSequenceConstruct);
  importers.add("SequenceEmpty", importSequenceEmpty);
  importers.add("SequenceInsert", importSequenceInsert);
  importers.add("SequenceErase", importSequenceErase);
  importers.add("SequenceMap", importSequenceMap);
  importers.add("SequenceLength", importSequenceLength);
  importers.add("ConcatFromSequence", importConcatFromSequence);
}
