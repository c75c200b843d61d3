#include "kedge/Dialect/ONNX/GradientUtils.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/ElementwiseOps.h"

using namespace mlir;
using namespace kedge;

/// Dims of `shape` that a tensor of `target` was stretched along; the leading ones that it lacks apart.
static void stretchedAxes(ArrayRef<int64_t> shape, ArrayRef<int64_t> target,
                          SmallVectorImpl<int64_t> &leading, SmallVectorImpl<int64_t> &inner) {
  size_t lacking = shape.size() - target.size();
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (dim < lacking)
      leading.push_back(dim);
    else if (target[dim - lacking] == 1 && shape[dim] != 1)
      inner.push_back(dim);
  }
}

Value kedge::reduceTo(OpBuilder &builder, Location loc, Value grad, Value like) {
  if (!grad)
    return {};
  SmallVector<int64_t> leading, inner;
  stretchedAxes(shapeOf(grad), shapeOf(like), leading, inner);
  if (!leading.empty() && !inner.empty()) {
    // One reduction over all of them; the inner ones come back with size 1.
    SmallVector<int64_t> all(leading);
    all.append(inner);
    grad = onnx::ReduceSumOp::create(builder, loc, grad, all, /*keepdims=*/false);
    grad = onnx::ReshapeOp::create(builder, loc, grad, shapeOf(like));
  } else if (!leading.empty()) {
    grad = onnx::ReduceSumOp::create(builder, loc, grad, leading, /*keepdims=*/false);
  } else if (!inner.empty()) {
    grad = onnx::ReduceSumOp::create(builder, loc, grad, inner, /*keepdims=*/true);
  }
  if (elementOf(grad) != elementOf(like))
    grad = onnx::CastOp::create(builder, loc, grad, TypeAttr::get(elementOf(like)));
  return grad;
}

static TypedAttr numberOf(Type element, double value) {
  if (isa<FloatType>(element))
    return FloatAttr::get(element, value);
  return IntegerAttr::get(element, static_cast<int64_t>(value));
}

Value kedge::splat(OpBuilder &builder, Location loc, RankedTensorType type, double value) {
  auto elements = DenseElementsAttr::get(type, cast<Attribute>(numberOf(type.getElementType(), value)));
  return onnx::ConstantOp::create(builder, loc, elements);
}

Value kedge::scalarLike(OpBuilder &builder, Location loc, Value like, double value) {
  return splat(builder, loc, RankedTensorType::get({}, elementOf(like)), value);
}

Value kedge::zerosLike(OpBuilder &builder, Location loc, Value like) {
  return splat(builder, loc, tensorType(like), 0);
}

DictionaryAttr kedge::floatsOf(Operation *op) {
  SmallVector<NamedAttribute> floats;
  for (NamedAttribute attribute : op->getAttrDictionary())
    if (isa<FloatAttr>(attribute.getValue()))
      floats.push_back(attribute);
  return DictionaryAttr::get(op->getContext(), floats);
}

Value GradientBuilder::add(Value a, Value b) { return onnx::AddOp::create(builder, loc, a, b); }
Value GradientBuilder::sub(Value a, Value b) { return onnx::SubOp::create(builder, loc, a, b); }
Value GradientBuilder::mul(Value a, Value b) { return onnx::MulOp::create(builder, loc, a, b); }
Value GradientBuilder::div(Value a, Value b) { return onnx::DivOp::create(builder, loc, a, b); }
Value GradientBuilder::neg(Value x) { return onnx::NegOp::create(builder, loc, x); }
Value GradientBuilder::scale(Value x, double factor) { return mul(x, scalarLike(builder, loc, x, factor)); }
Value GradientBuilder::cast(Value x, Type element) {
  return elementOf(x) == element ? x : onnx::CastOp::create(builder, loc, x, TypeAttr::get(element));
}
Value GradientBuilder::pointwise(train::PointwiseFunction function, ValueRange inputs,
                                 DictionaryAttr parameters) {
  return train::PointwiseGradOp::create(builder, loc, inputs, function, parameters);
}
Value GradientBuilder::reduceTo(Value grad, Value like) { return kedge::reduceTo(builder, loc, grad, like); }
