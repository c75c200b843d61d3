#include "GradientFolds.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Dialect/ONNX/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/LossScaleOps.h"

using namespace mlir;

namespace kedge::autodiff {
namespace {
SmallVector<int64_t> allBut(int64_t last) { return llvm::to_vector(llvm::seq<int64_t>(0, last)); }
} // namespace

Value sumOfSquares(OpBuilder &builder, Value gradient) {
  Location loc = gradient.getLoc();
  int64_t rank = rankOf(gradient);
  if (elementOf(gradient) != builder.getF32Type())
    gradient = onnx::CastOp::create(builder, loc, gradient, TypeAttr::get(builder.getF32Type()));
  if (rank == 0)
    return onnx::MulOp::create(builder, loc, gradient, gradient);
  Value rows = onnx::ReduceSumSquareOp::create(builder, loc, gradient, ArrayRef<int64_t>{rank - 1}, false);
  SmallVector<int64_t> rest = allBut(rank - 1);
  return rest.empty() ? rows : onnx::ReduceSumOp::create(builder, loc, rows, rest, false).getResult();
}

Value anyNotFinite(OpBuilder &builder, Value gradient) {
  Location loc = gradient.getLoc();
  int64_t rank = rankOf(gradient);
  Value flags = train::NotFiniteOp::create(builder, loc, gradient);
  if (rank == 0)
    return flags;
  Value rows = onnx::ReduceMaxOp::create(builder, loc, flags, ArrayRef<int64_t>{rank - 1}, false);
  SmallVector<int64_t> rest = allBut(rank - 1);
  return rest.empty() ? rows : onnx::ReduceMaxOp::create(builder, loc, rows, rest, false).getResult();
}

} // namespace kedge::autodiff
