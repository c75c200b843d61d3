#include "passes/Autodiff/SquaresOfParts.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;

namespace kedge::autodiff {

/// Rows are reduced where the gradient is made or updated, in one launch for all parts, where each part has
/// as many.
void SquaresOfParts::add(OpBuilder &builder, Value gradient) {
  Location loc = gradient.getLoc();
  const SmallVector<int64_t> shape = longRowsOf(shapeOf(gradient));
  const int64_t elements = elementCount(shape), all = static_cast<int64_t>(reductions.size()) * holders.ranks,
                rows = shape.size() < 2 ? 0 : elements / shape.back();
  if (elements % all != 0)
    return whole.add(builder, gradient);
  const bool byRows = rows > 0 && rows % all == 0;
  Value own = gradient;
  if (!holders.isAlone())
    own = dist::LocalShardOp::create(builder, loc, gradient, holders).getResult(0);
  const SmallVector<int64_t> ownShape = byRows ? SmallVector<int64_t>{rows / holders.ranks, shape.back()}
                                               : SmallVector<int64_t>{elements / holders.ranks};
  own = builder.createOrFold<onnx::ReshapeOp>(loc, own, ownShape);
  if (byRows)
    own = whole.reduceRows(builder, own);
  for (auto [part, reduction] : llvm::enumerate(reductions)) {
    Value piece = pieceOf(builder, own, static_cast<int64_t>(part));
    if (byRows)
      reduction.addReduced(piece);
    else
      reduction.add(builder, piece);
  }
}

Value SquaresOfParts::pieceOf(OpBuilder &builder, Value row, int64_t part) const {
  if (reductions.size() == 1)
    return row;
  const int64_t size = elementCount(shapeOf(row)) / static_cast<int64_t>(reductions.size());
  const auto at = [&](int64_t place) { return builder.getDenseI64ArrayAttr(place); };
  return onnx::SliceOp::create(builder, row.getLoc(), row, at(part * size), at((part + 1) * size), at(1));
}

Value SquaresOfParts::join(OpBuilder &builder, Location loc) {
  SmallVector<Value> sums;
  for (SumOfSquares &reduction : reductions)
    if (Value sum = reduction.join(builder, loc))
      sums.push_back(sum);
  while (sums.size() > 1) {
    SmallVector<Value> pairs;
    for (size_t at = 0; at < sums.size(); at += 2)
      pairs.push_back(onnx::AddOp::create(builder, loc, sums[at], sums[at + 1]));
    sums = pairs;
  }
  Value total = sums.empty() ? Value() : sums.front();
  if (total && !holders.isAlone()) {
    auto all = dist::AllReduceOp::create(builder, loc, total, holders, dist::ReduceKind::Sum);
    all.setOrder(dist::SumOrder::Tree);
    total = all.getResult(0);
  }
  Value rest = whole.join(builder, loc);
  return total && rest ? onnx::AddOp::create(builder, loc, total, rest).getResult() : total ? total : rest;
}

} // namespace kedge::autodiff
