#include "passes/Autodiff/Losses/Formula.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Loss/LossOps.h"

namespace kedge::autodiff {
using namespace mlir;

Value Formula::number(Value like, double value) { return scalarLike(b, loc, like, value); }

Value Formula::add(Value x, Value y) { return onnx::AddOp::create(b, loc, x, y); }
Value Formula::add(Value x, double y) { return add(x, number(x, y)); }
Value Formula::sub(Value x, Value y) { return onnx::SubOp::create(b, loc, x, y); }
Value Formula::mul(Value x, Value y) { return onnx::MulOp::create(b, loc, x, y); }
Value Formula::mul(Value x, double y) { return y == 1 ? x : mul(x, number(x, y)); }
Value Formula::div(Value x, Value y) { return onnx::DivOp::create(b, loc, x, y); }
Value Formula::neg(Value x) { return onnx::NegOp::create(b, loc, x); }
Value Formula::abs(Value x) { return onnx::AbsOp::create(b, loc, x); }
Value Formula::exp(Value x) { return onnx::ExpOp::create(b, loc, x); }
Value Formula::log(Value x) { return onnx::LogOp::create(b, loc, x); }
Value Formula::sqrt(Value x) { return onnx::SqrtOp::create(b, loc, x); }
Value Formula::sigmoid(Value x) { return onnx::SigmoidOp::create(b, loc, x); }
Value Formula::softplus(Value x) { return onnx::SoftplusOp::create(b, loc, x); }
Value Formula::relu(Value x) { return onnx::ReluOp::create(b, loc, x); }
Value Formula::maximum(Value x, double least) { return onnx::MaxOp::create(b, loc, x, number(x, least)); }
Value Formula::minimum(Value x, Value y) { return onnx::MinOp::create(b, loc, x, y); }

Value Formula::pow(Value x, double exponent) {
  if (exponent == 1)
    return x;
  return exponent == 2 ? square(x) : onnx::PowOp::create(b, loc, x, number(x, exponent)).getResult();
}

Value Formula::lessOrEqual(Value x, double y) { return onnx::LessOrEqualOp::create(b, loc, x, number(x, y)); }
Value Formula::lessOrEqual(Value x, Value y) { return onnx::LessOrEqualOp::create(b, loc, x, y); }
Value Formula::greater(Value x, double y) { return onnx::GreaterOp::create(b, loc, x, number(x, y)); }
Value Formula::equal(Value x, Value y) { return onnx::EqualOp::create(b, loc, x, y); }
Value Formula::equal(Value x, int64_t y) { return equal(x, number(x, static_cast<double>(y))); }
Value Formula::negate(Value condition) { return onnx::NotOp::create(b, loc, condition); }
Value Formula::both(Value condition, Value other) { return onnx::AndOp::create(b, loc, condition, other); }
Value Formula::where(Value condition, Value x, Value y) {
  return onnx::WhereOp::create(b, loc, condition, x, y);
}
Value Formula::where(Value condition, Value x, double y) { return where(condition, x, number(x, y)); }
Value Formula::where(Value condition, double x, Value y) { return where(condition, number(y, x), y); }

Value Formula::cast(Value x, Type element) {
  return elementOf(x) == element ? x : onnx::CastOp::create(b, loc, x, TypeAttr::get(element)).getResult();
}
Value Formula::toF32(Value x) { return cast(x, b.getF32Type()); }

Value Formula::sum(Value x, ArrayRef<int64_t> axes, bool keeps) {
  return axes.empty() ? x : onnx::ReduceSumOp::create(b, loc, x, axes, keeps).getResult();
}
Value Formula::logSumExp(Value x, int64_t axis) {
  return onnx::ReduceLogSumExpOp::create(b, loc, x, ArrayRef(axis), false);
}
Value Formula::logSoftmax(Value x, int64_t axis) { return onnx::LogSoftmaxOp::create(b, loc, x, axis); }

Value Formula::reshape(Value x, ArrayRef<int64_t> shape) {
  return shapeOf(x) == shape ? x : onnx::ReshapeOp::create(b, loc, x, shape).getResult();
}
Value Formula::expand(Value x, ArrayRef<int64_t> shape) { return onnx::ExpandOp::create(b, loc, x, shape); }
Value Formula::concat(ValueRange parts, int64_t axis) {
  return onnx::ConcatOp::create(b, loc, parts, b.getI64IntegerAttr(axis));
}

Value Formula::slice(Value x, int64_t dim, int64_t first, int64_t last, int64_t step) {
  SmallVector<int64_t> starts(rankOf(x), 0), ends(shapeOf(x)), steps(rankOf(x), 1);
  starts[dim] = first;
  ends[dim] = last;
  steps[dim] = step;
  return onnx::SliceOp::create(b, loc, x, b.getDenseI64ArrayAttr(starts), b.getDenseI64ArrayAttr(ends),
                               b.getDenseI64ArrayAttr(steps));
}

Value Formula::take(Value x, Value indices, int64_t axis) {
  return onnx::GatherElementsOp::create(b, loc, x, indices, axis);
}
Value Formula::products(Value x, Value y) { return onnx::MatMulOp::create(b, loc, x, y, false, true); }

Value Formula::filled(ArrayRef<int64_t> shape, double value) {
  return splat(b, loc, RankedTensorType::get(shape, b.getF32Type()), value);
}
Value Formula::vector(ArrayRef<float> numbers) {
  auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, b.getF32Type());
  return onnx::ConstantOp::create(b, loc, DenseElementsAttr::get(type, numbers));
}
Value Formula::integers(ArrayRef<int64_t> numbers) {
  auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, b.getI64Type());
  return onnx::ConstantOp::create(b, loc, DenseElementsAttr::get(type, numbers));
}

Value Formula::held(Value x) { return onnx::IdentityOp::create(b, loc, x, /*stops_gradient=*/true); }

Value Formula::crossEntropy(Value logits, Value labels, int64_t axis, int64_t ignored, double smoothing) {
  return train::CrossEntropyOp::create(b, loc, logits, labels, axis, ignored, APFloat(smoothing)).getLosses();
}

} // namespace kedge::autodiff
