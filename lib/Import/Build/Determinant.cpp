// Det: elimination with the largest pivot of each column, one step after another.
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MathImporters.h"
#include "lib/Import/Build/MovementUtils.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
/// Each row is a dozen ops.
constexpr int64_t mostRows = 64;

/// The pivot of the first column, with the sign that its exchange of rows brings, and what elimination
/// leaves.
struct Step {
  Value pivot, rest;
};

Step eliminate(NodeContext &node, Value a) {
  OpBuilder &b = node.builder;
  GradientBuilder math{b, node.loc};
  int64_t rank = rankOf(a), rows = shapeOf(a).back(), column = rank - 1, row = rank - 2;
  auto part = [&](Value v, int64_t axis, int64_t start, int64_t end) {
    return sliceAxis(b, node.loc, v, axis, start, end);
  };
  auto whole = [&](int64_t value) { return reshape(b, node.loc, node.constantInts1d({value}), {}); };
  auto same = [&](Value x, Value y) -> Value { return onnx::EqualOp::create(b, node.loc, x, y); };

  Value sizes = onnx::AbsOp::create(b, node.loc, part(a, column, 0, 1));
  Value place = onnx::ArgMaxOp::create(b, node.loc, sizes, row, true, false);
  Dims wide(shapeOf(place));
  wide[column] = rows;
  Value chosen = onnx::GatherElementsOp::create(b, node.loc, a, expand(b, node.loc, place, wide), row);
  Value here = same(reshape(b, node.loc, node.constantInts1d(firstDims(rows)), {rows, 1}), place);
  Value rest = part(onnx::WhereOp::create(b, node.loc, here, part(a, row, 0, 1), a), row, 1, rows);

  Value pivot = part(chosen, column, 0, 1), one = scalarLike(b, node.loc, a, 1);
  Value divisor = onnx::WhereOp::create(b, node.loc, same(pivot, scalarLike(b, node.loc, a, 0)), one, pivot);
  Value factors = math.div(part(rest, column, 0, 1), divisor);
  Value sign = onnx::WhereOp::create(b, node.loc, same(place, whole(0)), one, scalarLike(b, node.loc, a, -1));
  return {math.mul(pivot, sign),
          math.sub(part(rest, column, 1, rows), math.mul(factors, part(chosen, column, 1, rows)))};
}

void importDet(NodeContext &node) {
  Value a = node.require(0), product;
  int64_t rank = rankOf(a), rows = rank < 2 ? 0 : shapeOf(a).back();
  if (rank < 2 || rows < 1 || shapeOf(a)[rank - 2] != rows)
    node.fail("expected square matrices, found [{}]", fmt::join(shapeOf(a), " x "));
  if (rows > mostRows)
    node.unsupported(fmt::format("the determinant of {} rows; at most {} are supported", rows, mostRows));
  Dims shape(shapeOf(a).drop_back(2));
  auto times = [&](Value x) {
    product = product ? onnx::MulOp::create(node.builder, node.loc, product, x).getResult() : x;
  };
  for (int64_t k = rows; k > 1; --k) {
    Step step = eliminate(node, a);
    times(step.pivot);
    a = step.rest;
  }
  times(a);
  node.setResult(0, reshape(node.builder, node.loc, product, shape));
}
} // namespace

void kedge::importer::addDeterminantImporter(NodeImporters &importers) { importers.add("Det", importDet); }
