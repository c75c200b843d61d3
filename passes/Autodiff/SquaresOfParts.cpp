#include "passes/Autodiff/SquaresOfParts.h"
#include "lib/Dialect/Dist/CollectiveOps.h"
#include "lib/Dialect/ONNX/Math/MathOps.h"
#include "lib/Dialect/ONNX/Movement/MovementOps.h"
#include "lib/Dialect/ONNX/ShapeUtils.h"

using namespace mlir;

namespace kedge::autodiff {

void SquaresOfParts::add(OpBuilder &builder, Value gradient) {
  Location loc = gradient.getLoc();
  const int64_t elements = elementCount(shapeOf(gradient)), parts = static_cast<int64_t>(folds.size());
  if (elements % (parts * holders.ranks) != 0)
    return whole.add(builder, gradient);
  Value own = holders.isAlone()
                  ? builder.createOrFold<onnx::ReshapeOp>(loc, gradient, ArrayRef<int64_t>{elements})
                  : dist::LocalShardOp::create(builder, loc, gradient, holders).getResult(0);
  const int64_t size = elements / (parts * holders.ranks);
  for (int64_t part = 0; part < parts; ++part) {
    auto at = [&](int64_t place) { return builder.getDenseI64ArrayAttr(place); };
    Value piece =
        parts == 1 ? own
                   : onnx::SliceOp::create(builder, loc, own, at(part * size), at((part + 1) * size), at(1))
                         .getResult();
    folds[static_cast<size_t>(part)].add(builder, piece);
  }
}

Value SquaresOfParts::join(OpBuilder &builder, Location loc) {
  SmallVector<Value> sums;
  for (SumOfSquares &fold : folds)
    if (Value sum = fold.join(builder, loc))
      sums.push_back(sum);
  while (sums.size() > 1) {
    SmallVector<Value> pairs;
    for (size_t at = 0; at < sums.size(); at += 2)
      pairs.push_back(onnx::AddOp::create(builder, loc, sums[at], sums[at + 1]));
    sums = pairs;
  }
  Value total = sums.empty() ? Value() : sums.front();
  if (total && !holders.isAlone()) {
    auto all = dist::AllReduceOp::create(builder, loc, total, holders, "sum");
    all.setOrder("tree");
    total = all.getResult(0);
  }
  Value rest = whole.join(builder, loc);
  return total && rest ? onnx::AddOp::create(builder, loc, total, rest).getResult() : total ? total : rest;
}

} // namespace kedge::autodiff
