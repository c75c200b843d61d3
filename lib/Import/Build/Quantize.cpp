// QuantizeLinear and its relatives.
#include "MathImporters.h"
#include "MovementUtils.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;
using namespace kedge;

static IntegerAttr channelAxis(NodeContext &node, Value x, Value scale) {
  int64_t axis = node.node.attrInt("axis", 1), rank = rankOf(x);
  bool used = rankOf(scale) > 0 && elementCount(shapeOf(scale)) != 1;
  return node.builder.getI64IntegerAttr(used ? axisOf(node, axis, rank) : axis < 0 ? axis + rank : axis);
}

static void refuseBlocks(NodeContext &node) {
  if (node.node.attrInt("block_size", 0) != 0)
    node.unsupported("blocked quantisation is not supported");
}

static void importQuantize(NodeContext &node) {
  refuseBlocks(node);
  Value x = node.require(0), scale = node.require(1), zero = node.has(2) ? node.operand(2) : Value();
  int64_t type = node.node.attrInt("output_dtype", 0);
  if (!zero && type != 0) {
    Type element = node.elementType(static_cast<model::DType>(type));
    zero = splat(node.builder, node.loc, RankedTensorType::get(shapeOf(scale), element), 0);
  }
  node.setResult(
      0, onnx::QuantizeLinearOp::create(node.builder, node.loc, x, scale, zero, channelAxis(node, x, scale)));
}

static void importDequantize(NodeContext &node) {
  refuseBlocks(node);
  Value x = node.require(0), scale = node.require(1), zero = node.has(2) ? node.operand(2) : Value();
  node.setResult(0, onnx::DequantizeLinearOp::create(node.builder, node.loc, x, scale, zero,
                                                     channelAxis(node, x, scale)));
}

static void importDynamicQuantize(NodeContext &node) {
  auto op = onnx::DynamicQuantizeLinearOp::create(node.builder, node.loc, node.require(0));
  node.setResults(op->getResults());
}

void kedge::addQuantizeImporters(NodeImporters &importers) {
  importers.add("QuantizeLinear", importQuantize);
  importers.add("DequantizeLinear", importDequantize);
  importers.add("DynamicQuantizeLinear", importDynamicQuantize);
}
