// Nodes that leave no op: constants, identities, shapes, branches taken at compile time.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/NodeImporter.h"
#include "lib/Lint/Lint.h"
#include "lib/Model/NarrowTypes.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

static void importConstantNode(NodeContext &node) {
  if (node.node.has("sparse_value"))
    node.unsupported("sparse constants are not supported");
  model::Tensor tensor = model::constantValue(node.node);
  model::ElementType narrow = model::isNarrow(tensor.dtype) ? tensor.dtype : model::ElementType::Undefined;
  node.setResult(0, ImportedValue{node.constantTensor(tensor), std::nullopt, narrow});
}

/// Nothing, but for a detach() of floats, which ends the gradient.
static void importIdentity(NodeContext &node) {
  ImportedValue value = node.imported(0);
  if (value.tensor && isa<FloatType>(elementOf(value.tensor)) && lint::stopsGradient(node.node))
    value.tensor = onnx::IdentityOp::create(node.builder, node.loc, value.tensor, node.builder.getUnitAttr());
  node.setResult(0, value);
}

static void importShape(NodeContext &node) {
  ArrayRef<int64_t> shape = shapeOf(node.require(0));
  int64_t rank = shape.size();
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t start = clamp(node.node.attrInt("start", 0)), end = clamp(node.node.attrInt("end", rank));
  node.setResult(0, node.constantInts1d(shape.slice(start, std::max<int64_t>(0, end - start))));
}

static void importSize(NodeContext &node) {
  auto type = RankedTensorType::get({}, node.builder.getI64Type());
  auto count = DenseElementsAttr::get(type, ArrayRef<int64_t>{elementCount(shapeOf(node.require(0)))});
  node.setResult(0, onnx::ConstantOp::create(node.builder, node.loc, count));
}

static void importIf(NodeContext &node) {
  std::optional<SmallVector<int64_t>> condition;
  try {
    condition = node.constantInts(0, "the condition");
  } catch (const UnsupportedNode &) {
    node.unsupported(
        "the condition depends on data; only an If whose condition is known at compile time works");
  }
  if (condition->size() != 1)
    node.fail("the condition has {} elements, expected one", condition->size());
  const model::Graph &branch = node.node.attrGraph((*condition)[0] ? "then_branch" : "else_branch");
  for (auto [k, value] : llvm::enumerate(node.importSubgraph(branch, {})))
    node.setResult(k, value);
}

// Optional values: what is there is known at compile time.
static void importOptional(NodeContext &node) {
  if (!node.has(0))
    node.unsupported("an empty optional is not supported");
  node.setResult(0, node.imported(0));
}

static void importOptionalHasElement(NodeContext &node) {
  auto type = RankedTensorType::get({}, node.builder.getI1Type());
  auto there = DenseElementsAttr::get(type, ArrayRef<bool>{node.has(0)});
  node.setResult(0, onnx::ConstantOp::create(node.builder, node.loc, there));
}

void kedge::importer::registerCoreImporters(NodeImporters &importers) {
  importers.add("Constant", importConstantNode);
  importers.add("Identity", importIdentity);
  importers.add("Shape", importShape);
  importers.add("Size", importSize);
  importers.add("If", importIf);
  importers.add("Optional", importOptional);
  importers.add("OptionalGetElement", importOptional);
  importers.add("OptionalHasElement", importOptionalHasElement);
}
