#include "GradientFolds.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/MovementOps.h"
#include "kedge/Dialect/ONNX/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/LossScaleOps.h"

using namespace mlir;

namespace kedge::autodiff {
namespace {
/// The gradient with its last dimensions as one, which is then folded first: rows of a few numbers, as a filter's taps are, would
/// leave as many sums as there are numbers.
Value inLongRows(OpBuilder &builder, Value gradient) {
  constexpr int64_t kLong = 256;
  ArrayRef<int64_t> shape = shapeOf(gradient);
  SmallVector<int64_t> rows(shape);
  while (rows.size() > 2 && rows.back() < kLong) {
    const int64_t last = rows.pop_back_val();
    rows.back() *= last;
  }
  if (rows.size() == shape.size())
    return gradient;
  return onnx::ReshapeOp::create(builder, gradient.getLoc(), gradient, rows);
}

/// All elements by `First` along the last dimension, then what that leaves by `Rest`.
template <typename First, typename Rest> Value foldRows(OpBuilder &builder, Value values) {
  Location loc = values.getLoc();
  const int64_t last = rankOf(values) - 1;
  Value rows = First::create(builder, loc, values, ArrayRef<int64_t>{last}, false);
  if (last == 0)
    return rows;
  return Rest::create(builder, loc, rows, llvm::to_vector(llvm::seq<int64_t>(0, last)), false);
}
} // namespace

Value sumOfSquares(OpBuilder &builder, Value gradient) {
  Location loc = gradient.getLoc();
  gradient = inLongRows(builder, gradient);
  if (elementOf(gradient) != builder.getF32Type())
    gradient = onnx::CastOp::create(builder, loc, gradient, TypeAttr::get(builder.getF32Type()));
  if (rankOf(gradient) == 0)
    return onnx::MulOp::create(builder, loc, gradient, gradient);
  return foldRows<onnx::ReduceSumSquareOp, onnx::ReduceSumOp>(builder, gradient);
}

Value anyNotFinite(OpBuilder &builder, Value gradient) {
  gradient = inLongRows(builder, gradient);
  Value flags = train::NotFiniteOp::create(builder, gradient.getLoc(), gradient);
  return rankOf(gradient) == 0 ? flags : foldRows<onnx::ReduceMaxOp, onnx::ReduceMaxOp>(builder, flags);
}

} // namespace kedge::autodiff
