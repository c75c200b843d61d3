// Reductions, softmax, CumSum, TopK, from any opset to the canonical ops.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Import/NodeImporter.h"
#include "lib/Lint/Lint.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

static IntegerAttr axisAttr(NodeContext &node, Value x, int64_t otherwise) {
  return node.builder.getI64IntegerAttr(axisOf(node, node.node.attrInt("axis", otherwise), rankOf(x)));
}

/// Sorted, none twice, not negative.
static SmallVector<int64_t> sortedAxes(NodeContext &node, ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes)
    result.push_back(axisOf(node, axis, rank));
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    node.fail("axes name a dimension twice");
  return result;
}

/// Axes are an operand since opset 13 (ReduceSum) or 18, an attribute before. None: all, or none at all.
static SmallVector<int64_t> reducedAxes(NodeContext &node, int64_t rank) {
  SmallVector<int64_t> axes;
  if (auto attribute = node.node.attrIntsIf("axes"))
    axes.assign(attribute->begin(), attribute->end());
  else if (auto operand = node.constantInts(1, "axes"))
    axes = *operand;
  if (axes.empty() && !node.node.attrBool("noop_with_empty_axes", false))
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  return sortedAxes(node, axes, rank);
}

template <typename Op> static void importReduce(NodeContext &node) {
  Value x = node.require(0);
  bool keepdims = node.node.attrBool("keepdims", true);
  node.setResult(0, Op::create(node.builder, node.loc, x, reducedAxes(node, rankOf(x)), keepdims));
}

/// max(dim) of PyTorch: all of the gradient goes to the first of equal elements, while ONNX's extremum shares
/// it.
template <typename Op, typename Arg> static void importExtremum(NodeContext &node) {
  Value x = node.require(0);
  SmallVector<int64_t> axes = reducedAxes(node, rankOf(x));
  if (axes.size() != 1 || !isa<FloatType>(elementOf(x)) || !lint::pyTorchGradient(node.node).firstOfEqual)
    return importReduce<Op>(node);
  OpBuilder &b = node.builder;
  Value place =
      Arg::create(b, node.loc, x, b.getI64IntegerAttr(axes[0]), b.getBoolAttr(true), b.getBoolAttr(false));
  Value y = onnx::GatherElementsOp::create(b, node.loc, x, place, b.getI64IntegerAttr(axes[0]));
  if (!node.node.attrBool("keepdims", true)) {
    SmallVector<int64_t> shape(shapeOf(y));
    shape.erase(shape.begin() + axes[0]);
    y = onnx::ReshapeOp::create(b, node.loc, y, shape);
  }
  node.setResult(0, y);
}

template <typename Op> static void importArg(NodeContext &node) {
  Value x = node.require(0);
  BoolAttr keepdims = node.builder.getBoolAttr(node.node.attrBool("keepdims", true));
  BoolAttr last = node.builder.getBoolAttr(node.node.attrBool("select_last_index", false));
  node.setResult(0, Op::create(node.builder, node.loc, x, axisAttr(node, x, 0), keepdims, last));
}

/// Before opset 13 the dims from `axis` on counted as one.
template <typename Op> static void importSoftmax(NodeContext &node) {
  Value x = node.require(0);
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t rank = rankOf(x);
  if (node.opset() >= 13) {
    node.setResult(0, Op::create(node.builder, node.loc, x, axisAttr(node, x, -1)));
    return;
  }
  int64_t axis = axisOf(node, node.node.attrInt("axis", 1), rank);
  if (elementCount(shape.drop_front(axis + 1)) == 1) {
    node.setResult(0, Op::create(node.builder, node.loc, x, node.builder.getI64IntegerAttr(axis)));
    return;
  }
  int64_t rows = elementCount(shape.take_front(axis)), columns = elementCount(shape.drop_front(axis));
  Value flat = onnx::ReshapeOp::create(node.builder, node.loc, x, node.ints({rows, columns}));
  Value result = Op::create(node.builder, node.loc, flat, node.builder.getI64IntegerAttr(1));
  node.setResult(0, onnx::ReshapeOp::create(node.builder, node.loc, result, node.ints(shape)));
}

static void importCumSum(NodeContext &node) {
  Value x = node.require(0);
  auto axis = node.constantInts(1, "axis");
  if (!axis || axis->size() != 1)
    node.fail("axis is missing or has several elements, expected one");
  Builder &b = node.builder;
  node.setResult(0, onnx::CumSumOp::create(node.builder, node.loc, x,
                                           b.getI64IntegerAttr(axisOf(node, axis->front(), rankOf(x))),
                                           b.getBoolAttr(node.node.attrBool("exclusive", false)),
                                           b.getBoolAttr(node.node.attrBool("reverse", false))));
}

/// k is an attribute before opset 10, an operand since.
static void importTopK(NodeContext &node) {
  Value x = node.require(0);
  int64_t k;
  if (node.opset() < 10) {
    k = node.node.attrInt("k");
  } else {
    auto operand = node.constantInts(1, "k");
    if (!operand || operand->size() != 1)
      node.fail("k is missing or has several elements, expected one");
    k = operand->front();
  }
  Builder &b = node.builder;
  auto op = onnx::TopKOp::create(node.builder, node.loc, x, b.getI64IntegerAttr(k), axisAttr(node, x, -1),
                                 b.getBoolAttr(node.node.attrBool("largest", true)),
                                 b.getBoolAttr(node.node.attrBool("sorted", true)));
  node.setResults(op->getResults());
}

/// x over its norm along the axis; a vector of zeros stays one.
static void importLpNormalization(NodeContext &node) {
  Value x = node.require(0);
  OpBuilder &b = node.builder;
  int64_t axis = axisOf(node, node.node.attrInt("axis", -1), rankOf(x)), p = node.node.attrInt("p", 2);
  if (p != 1 && p != 2)
    node.fail("attribute p is {}, expected 1 or 2", p);
  Value norm = p == 1 ? Value(onnx::ReduceL1Op::create(b, node.loc, x, {axis}, true))
                      : Value(onnx::ReduceL2Op::create(b, node.loc, x, {axis}, true));
  Value zero = scalarLike(b, node.loc, x, 0), one = scalarLike(b, node.loc, x, 1);
  Value isZero = onnx::EqualOp::create(b, node.loc, norm, zero);
  Value divisor = onnx::WhereOp::create(b, node.loc, isZero, one, norm);
  node.setResult(0, onnx::DivOp::create(b, node.loc, x, divisor));
}

/// (x - mean) / (standard deviation + 1e-9) over the axes.
static void importMeanVarianceNormalization(NodeContext &node) {
  Value x = node.require(0);
  GradientBuilder math{node.builder, node.loc};
  SmallVector<int64_t> axes = sortedAxes(node, node.node.attrInts("axes", {0, 2, 3}), rankOf(x));
  auto mean = [&](Value v) -> Value {
    return onnx::ReduceMeanOp::create(node.builder, node.loc, v, axes, true);
  };
  Value centered = math.sub(x, mean(x));
  Value deviation = onnx::SqrtOp::create(node.builder, node.loc, mean(math.mul(centered, centered)));
  Value epsilon = scalarLike(node.builder, node.loc, x, 1e-9);
  node.setResult(0, math.div(centered, math.add(deviation, epsilon)));
}

void kedge::importer::registerReductionImporters(NodeImporters &importers) {
  importers.add("ReduceSum", importReduce<onnx::ReduceSumOp>);
  importers.add("ReduceMean", importReduce<onnx::ReduceMeanOp>);
  importers.add("ReduceMax", importExtremum<onnx::ReduceMaxOp, onnx::ArgMaxOp>);
  importers.add("ReduceMin", importExtremum<onnx::ReduceMinOp, onnx::ArgMinOp>);
  importers.add("ReduceProd", importReduce<onnx::ReduceProdOp>);
  importers.add("ReduceL1", importReduce<onnx::ReduceL1Op>);
  importers.add("ReduceL2", importReduce<onnx::ReduceL2Op>);
  importers.add("ReduceLogSum", importReduce<onnx::ReduceLogSumOp>);
  importers.add("ReduceLogSumExp", importReduce<onnx::ReduceLogSumExpOp>);
  importers.add("ReduceSumSquare", importReduce<onnx::ReduceSumSquareOp>);
  importers.add("Softmax", importSoftmax<onnx::SoftmaxOp>);
  importers.add("LogSoftmax", importSoftmax<onnx::LogSoftmaxOp>);
  importers.add("Hardmax", importSoftmax<onnx::HardmaxOp>);
  importers.add("ArgMax", importArg<onnx::ArgMaxOp>);
  importers.add("ArgMin", importArg<onnx::ArgMinOp>);
  importers.add("CumSum", importCumSum);
  importers.add("TopK", importTopK);
  importers.add("LpNormalization", importLpNormalization);
  importers.add("MeanVarianceNormalization", importMeanVarianceNormalization);
}
