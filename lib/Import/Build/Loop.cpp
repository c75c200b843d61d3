// Loops whose iterations are known at compile time are unrolled.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

/// Unrolled programs beyond this are no use to anyone.
static constexpr int64_t mostIterations = 1024;

static Value scalar(NodeContext &node, Type element, int64_t value) {
  auto type = RankedTensorType::get({}, element);
  auto attribute = DenseElementsAttr::get(type, Attribute(IntegerAttr::get(element, value)));
  return onnx::ConstantOp::create(node.builder, node.loc, attribute);
}

/// The iteration limit (a large number when there is none).
static int64_t tripCount(NodeContext &node) {
  if (!node.has(0))
    return mostIterations + 1;
  auto count = node.maybeConstantInts(0);
  if (!count || count->size() != 1)
    node.unsupported(
        "the trip count depends on data; only a Loop whose iterations are known at compile time works");
  return count->front();
}

static bool isTrue(NodeContext &node, Value condition) {
  auto known = node.maybeConstantInts(condition);
  if (!known || known->size() != 1)
    node.unsupported("the end depends on data; only a Loop whose iterations are known at compile time works");
  return known->front() != 0;
}

/// Scan outputs: one slice an iteration, along a new first dimension.
static Value stack(NodeContext &node, ArrayRef<Value> slices) {
  if (slices.empty())
    node.unsupported("a Loop without iterations has scan outputs of no known shape");
  SmallVector<Value> rows;
  for (Value slice : slices) {
    if (!isa<RankedTensorType>(slice.getType()))
      node.unsupported("a scan output is made by an operator that is not supported");
    Dims shape(shapeOf(slice));
    shape.insert(shape.begin(), 1);
    rows.push_back(reshape(node.builder, node.loc, slice, shape));
  }
  return rows.size() == 1 ? rows[0] : onnx::ConcatOp::create(node.builder, node.loc, rows, 0).getResult();
}

static void importLoop(NodeContext &node) {
  const model::Graph &body = node.node.attrGraph("body");
  int64_t count = tripCount(node);
  SmallVector<ImportedValue> carried;
  for (size_t k = 2; k < node.operandCount(); ++k)
    carried.push_back(node.imported(k));
  if (body.outputs.size() < carried.size() + 1)
    node.fail("the body has {} outputs, expected at least {}", body.outputs.size(), carried.size() + 1);
  std::vector<SmallVector<Value>> scans(body.outputs.size() - carried.size() - 1);
  Value condition = node.has(1) ? node.require(1) : scalar(node, node.builder.getI1Type(), 1);
  for (int64_t i = 0; i < count && isTrue(node, condition); ++i) {
    if (i == mostIterations)
      node.unsupported(fmt::format("more than {} iterations", mostIterations));
    SmallVector<ImportedValue> inputs = {{scalar(node, node.builder.getI64Type(), i), std::nullopt},
                                         {condition, std::nullopt}};
    llvm::append_range(inputs, carried);
    SmallVector<ImportedValue> outputs = node.importSubgraph(body, inputs);
    condition = outputs[0].tensor;
    carried.assign(outputs.begin() + 1, outputs.begin() + 1 + carried.size());
    for (size_t k = 0; k < scans.size(); ++k)
      scans[k].push_back(outputs[1 + carried.size() + k].tensor);
  }
  for (size_t k = 0; k < carried.size(); ++k)
    node.setResult(k, carried[k]);
  for (size_t k = 0; k < scans.size(); ++k)
    if (node.node.hasOutput(carried.size() + k))
      node.setResult(carried.size() + k, stack(node, scans[k]));
}

void kedge::importer::registerLoopImporter(NodeImporters &importers) { importers.add("Loop", importLoop); }
