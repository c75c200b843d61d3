// Operators with graphs inside that are taken apart: Scan is unrolled, FlexAttention's graphs are placed in
// its middle.
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Import/Build/NarrowCasts.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
/// Unrolled programs beyond this are no use to anyone.
constexpr int64_t mostSlices = 1024;

/// Axis and direction of scanned value k among `names`' lists.
struct Scanned {
  int64_t axis;
  bool backwards;
};

Scanned scannedBy(NodeContext &node, StringRef which, size_t k, int64_t rank) {
  auto axes = node.node.attrInts((which + "_axes").str(), {}),
       directions = node.node.attrInts((which + "_directions").str(), {});
  return {axisOf(node, k < axes.size() ? axes[k] : 0, rank), k < directions.size() && directions[k] != 0};
}

void importScan(NodeContext &node) {
  OpBuilder &b = node.builder;
  const model::Graph &body = node.node.attrGraph("body");
  if (node.opset() < 9)
    node.unsupported("Scan before opset 9 has another form");
  size_t scanned = node.node.attrInt("num_scan_inputs");
  if (scanned < 1 || scanned > node.operandCount() || body.outputs.size() < node.operandCount() - scanned)
    node.fail("num_scan_inputs is {} with {} inputs and a body of {} outputs", scanned, node.operandCount(),
              body.outputs.size());
  size_t states = node.operandCount() - scanned;
  SmallVector<ImportedValue> carried;
  for (size_t k = 0; k < states; ++k)
    carried.push_back(node.imported(k));
  auto input = [&](size_t k) { return node.require(states + k); };
  int64_t count = shapeOf(input(0))[scannedBy(node, "scan_input", 0, rankOf(input(0))).axis];
  if (count < 1 || count > mostSlices)
    node.unsupported(fmt::format("a Scan of {} iterations; from 1 to {} are supported", count, mostSlices));
  std::vector<SmallVector<Value>> slices(body.outputs.size() - states);
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<ImportedValue> inputs = carried;
    for (size_t k = 0; k < scanned; ++k) {
      auto [axis, backwards] = scannedBy(node, "scan_input", k, rankOf(input(k)));
      if (shapeOf(input(k))[axis] != count)
        node.fail("scan input {} has {} slices, the first has {}", k, shapeOf(input(k))[axis], count);
      int64_t at = backwards ? count - 1 - i : i;
      Value slice = sliceAxis(b, node.loc, input(k), axis, at, at + 1);
      inputs.push_back({reshape(b, node.loc, slice, without(shapeOf(slice), axis))});
    }
    SmallVector<ImportedValue> outputs = node.importSubgraph(body, inputs);
    carried.assign(outputs.begin(), outputs.begin() + states);
    for (size_t k = 0; k < slices.size(); ++k)
      slices[k].push_back(outputs[states + k].tensor);
  }
  for (size_t k = 0; k < states; ++k)
    node.setResult(k, carried[k]);
  for (size_t k = 0; k < slices.size(); ++k) {
    if (llvm::any_of(slices[k], [](Value v) { return !v || !isa<RankedTensorType>(v.getType()); }))
      node.unsupported("a scan output is made by an operator that is not supported");
    auto [axis, backwards] = scannedBy(node, "scan_output", k, rankOf(slices[k][0]) + 1);
    SmallVector<Value> rows;
    for (Value slice : slices[k]) {
      Dims shape(shapeOf(slice));
      shape.insert(shape.begin() + axis, 1);
      rows.push_back(reshape(b, node.loc, slice, shape));
    }
    if (backwards)
      std::reverse(rows.begin(), rows.end());
    node.setResult(states + k,
                   rows.size() == 1 ? rows[0] : Value(onnx::ConcatOp::create(b, node.loc, rows, axis)));
  }
}

/// Keys or values of a head for each query head that shares it.
Value sharedHeads(NodeContext &node, Value x, int64_t heads) {
  Dims s(shapeOf(x));
  if (s[1] == heads)
    return x;
  if (s[1] == 0 || heads % s[1] != 0)
    node.fail("{} query heads share {} heads", heads, s[1]);
  OpBuilder &b = node.builder;
  Value apart = expand(b, node.loc, reshape(b, node.loc, x, {s[0], s[1], 1, s[2], s[3]}),
                       {s[0], s[1], heads / s[1], s[2], s[3]});
  return reshape(b, node.loc, apart, {s[0], heads, s[2], s[3]});
}

Value modified(NodeContext &node, const char *graph, Value x) {
  const model::Graph *body = node.node.attrGraphIf(graph);
  if (!body)
    return x;
  SmallVector<ImportedValue> outputs = node.importSubgraph(*body, {ImportedValue{x}});
  if (outputs.size() != 1 || !outputs[0].tensor || outputs[0].tensor.getType() != x.getType())
    node.fail("{} does not give one tensor of the type of its input", graph);
  return outputs[0].tensor;
}

void importFlexAttention(NodeContext &node) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  Value q = node.require(0);
  for (size_t k = 0; k < 3; ++k)
    if (rankOf(node.require(k)) != 4)
      node.fail("input {} has rank {}, expected 4", k, rankOf(node.require(k)));
  int64_t heads = shapeOf(q)[1];
  Value key = sharedHeads(node, node.require(1), heads), value = sharedHeads(node, node.require(2), heads);
  float scale = node.node.attrFloat("scale", 1 / std::sqrt(static_cast<float>(shapeOf(q)[3])));
  Type given = elementOf(q), wide = elementOf(q).isF64() ? given : Type(b.getF32Type());
  if (int64_t precision = node.node.attrInt("softmax_precision", 0))
    wide = node.elementType(static_cast<model::ElementType>(precision));
  // Both operands take a part of the scale, so that no product grows large.
  Value scores = onnx::MatMulOp::create(b, node.loc, math.scale(q, std::sqrt(scale)),
                                        math.scale(key, std::sqrt(scale)), false, true);
  scores = modified(node, "score_mod", castTo(node, scores, wide));
  Value weights = onnx::SoftmaxOp::create(b, node.loc, scores, b.getI64IntegerAttr(3));
  weights = modified(node, "prob_mod", weights);
  Value y = onnx::MatMulOp::create(b, node.loc, weights, castTo(node, value, wide), false, false);
  node.setResult(0, castTo(node, y, given));
}
} // namespace

void kedge::importer::registerRegionImporters(NodeImporters &importers) {
  importers.add("Scan", importScan);
  importers.add("FlexAttention", importFlexAttention, "ai.onnx.preview");
}
