#include "passes/Autodiff/GradientReductions.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Loss/LossScaleOps.h"

using namespace mlir;

namespace kedge::autodiff {
/// The last dimensions are one, which is reduced first: rows of a few numbers, as a filter's taps are, would
/// leave as many sums as there are numbers.
SmallVector<int64_t> longRowsOf(ArrayRef<int64_t> shape) {
  constexpr int64_t kLong = 256;
  SmallVector<int64_t> rows(shape);
  while (rows.size() > 2 && rows.back() < kLong) {
    const int64_t last = rows.pop_back_val();
    rows.back() *= last;
  }
  return rows;
}

namespace {
Value inLongRows(OpBuilder &builder, Value gradient) {
  return builder.createOrFold<onnx::ReshapeOp>(gradient.getLoc(), gradient, longRowsOf(shapeOf(gradient)));
}

/// Biases and the like are kept as they are until all gradients are there: a launch costs more than their
/// bytes.
bool isShort(Value gradient) { return rankOf(gradient) <= 1 && elementCount(shapeOf(gradient)) <= 16384; }

/// Pieces of one launch: a kernel for GPUs looks its piece up among them.
constexpr size_t kPieces = 256;

Value asRow(OpBuilder &builder, Value values) {
  return builder.createOrFold<onnx::ReshapeOp>(values.getLoc(), values,
                                               ArrayRef<int64_t>{elementCount(shapeOf(values))});
}

Value asF32(OpBuilder &builder, Value values) {
  if (elementOf(values) == builder.getF32Type())
    return values;
  return onnx::CastOp::create(builder, values.getLoc(), values, TypeAttr::get(builder.getF32Type()));
}

} // namespace

Value sumOfSquares(OpBuilder &builder, Value gradient) {
  Location loc = gradient.getLoc();
  gradient = asF32(builder, inLongRows(builder, gradient));
  const int64_t rank = rankOf(gradient);
  if (rank == 0)
    return onnx::MulOp::create(builder, loc, gradient, gradient);
  Value rows = onnx::ReduceSumSquareOp::create(builder, loc, gradient, ArrayRef<int64_t>{rank - 1}, false);
  return rank == 1 ? rows
                   : onnx::ReduceSumOp::create(builder, loc, rows,
                                               llvm::to_vector(llvm::seq<int64_t>(0, rank - 1)), false);
}

void GradientReduction::add(OpBuilder &builder, Value gradient) {
  if (isShort(gradient))
    shortRows[elementOf(gradient)].push_back(asRow(builder, gradient));
  else
    addReduced(reduceRows(builder, gradient));
}

Value GradientReduction::reduceRows(OpBuilder &builder, Value gradient) const {
  return asRow(builder, reduceLast(builder, inLongRows(builder, gradient)));
}

Value GradientReduction::join(OpBuilder &builder, Location loc) {
  Value total;
  auto take = [&](ArrayRef<Value> rows, auto &&reduce) {
    for (; !rows.empty(); rows = rows.drop_front(std::min(kPieces, rows.size()))) {
      ArrayRef<Value> pieces = rows.take_front(kPieces);
      Value row =
          pieces.size() == 1 ? pieces[0] : Value(onnx::ConcatOp::create(builder, loc, ValueRange(pieces), 0));
      Value one = reduce(row);
      total = total ? combine(builder, total, one) : one;
    }
  };
  for (auto &[type, rows] : shortRows)
    take(rows, [&](Value row) { return reduceLast(builder, row); });
  take(reduced, [&](Value row) { return reduceAgain(builder, row); });
  return total;
}

Value SumOfSquares::reduceLast(OpBuilder &builder, Value values) const {
  values = asF32(builder, values);
  return onnx::ReduceSumSquareOp::create(builder, values.getLoc(), values,
                                         ArrayRef<int64_t>{rankOf(values) - 1}, false);
}

Value SumOfSquares::reduceAgain(OpBuilder &builder, Value row) const {
  return onnx::ReduceSumOp::create(builder, row.getLoc(), row, ArrayRef<int64_t>{0}, false);
}

Value SumOfSquares::combine(OpBuilder &builder, Value a, Value b) const {
  return onnx::AddOp::create(builder, a.getLoc(), a, b);
}

Value AnyNotFinite::reduceLast(OpBuilder &builder, Value values) const {
  Value flags = train::NotFiniteOp::create(builder, values.getLoc(), values);
  return onnx::ReduceMaxOp::create(builder, values.getLoc(), flags, ArrayRef<int64_t>{rankOf(values) - 1},
                                   false);
}

Value AnyNotFinite::reduceAgain(OpBuilder &builder, Value row) const {
  return onnx::ReduceMaxOp::create(builder, row.getLoc(), row, ArrayRef<int64_t>{0}, false);
}

Value AnyNotFinite::combine(OpBuilder &builder, Value a, Value b) const {
  return onnx::MaxOp::create(builder, a.getLoc(), a, b);
}

} // namespace kedge::autodiff
