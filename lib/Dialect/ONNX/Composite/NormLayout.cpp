#include "kedge/Dialect/ONNX/Composite/NormLayout.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Gradient/GradientOps.h"

using namespace mlir;
using namespace kedge;

int64_t NormLayout::count() const {
  int64_t n = 1;
  for (int64_t dim : reduced)
    n *= domain[dim];
  return n;
}

void NormLayout::describe(ClusterSpec &spec) const {
  spec.domain = domain;
  spec.reduced.assign(domain.size(), false);
  for (int64_t dim : reduced)
    spec.reduced[dim] = true;
}

void NormLayout::describeParamGrad(ClusterSpec &spec) const {
  spec.domain = domain;
  spec.reduced.clear();
  for (unsigned dim = 0; dim < domain.size(); ++dim)
    spec.reduced.push_back(!scale.isFunctionOfDim(dim));
}

NormLayout kedge::rowLayout(MLIRContext *context, ArrayRef<int64_t> shape, int64_t axis,
                            ArrayRef<int64_t> scaleShape) {
  NormLayout layout;
  layout.domain.assign(shape.begin(), shape.end());
  SmallVector<int64_t> statShape(shape.begin(), shape.end());
  SmallVector<AffineExpr> stat;
  for (int64_t dim = 0; dim < (int64_t)shape.size(); ++dim) {
    bool reduces = dim >= axis;
    if (reduces)
      layout.reduced.push_back(dim);
    stat.push_back(reduces ? getAffineConstantExpr(0, context) : getAffineDimExpr(dim, context));
  }
  layout.data = AffineMap::getMultiDimIdentityMap(shape.size(), context);
  layout.scale = broadcastMap(context, shape, scaleShape);
  layout.stat = AffineMap::get(shape.size(), 0, stat, context);
  return layout;
}

NormLayout kedge::channelLayout(MLIRContext *context, ArrayRef<int64_t> shape) {
  NormLayout layout;
  layout.domain.assign(shape.begin(), shape.end());
  for (int64_t dim = 0; dim < (int64_t)shape.size(); ++dim)
    if (dim != 1)
      layout.reduced.push_back(dim);
  layout.data = AffineMap::getMultiDimIdentityMap(shape.size(), context);
  layout.scale = layout.stat = AffineMap::get(shape.size(), 0, getAffineDimExpr(1, context), context);
  return layout;
}

NormLayout kedge::instanceLayout(MLIRContext *context, ArrayRef<int64_t> shape) {
  NormLayout layout;
  layout.domain.assign(shape.begin(), shape.end());
  for (int64_t dim = 2; dim < (int64_t)shape.size(); ++dim)
    layout.reduced.push_back(dim);
  AffineExpr n = getAffineDimExpr(0, context), c = getAffineDimExpr(1, context);
  layout.data = AffineMap::getMultiDimIdentityMap(shape.size(), context);
  layout.scale = AffineMap::get(shape.size(), 0, c, context);
  layout.stat = AffineMap::get(shape.size(), 0, {n, c}, context);
  return layout;
}

NormLayout kedge::groupLayout(MLIRContext *context, ArrayRef<int64_t> shape, int64_t groups,
                              int64_t scaleSize) {
  NormLayout layout;
  int64_t perGroup = shape[1] / groups;
  layout.domain = {shape[0], groups, perGroup};
  layout.domain.append(shape.begin() + 2, shape.end());
  unsigned rank = layout.domain.size();
  auto dim = [&](unsigned d) { return getAffineDimExpr(d, context); };
  AffineExpr channel = dim(1) * perGroup + dim(2);
  SmallVector<AffineExpr> data = {dim(0), channel};
  layout.reduced.push_back(2);
  for (unsigned d = 3; d < rank; ++d) {
    data.push_back(dim(d));
    layout.reduced.push_back(d);
  }
  layout.data = AffineMap::get(rank, 0, data, context);
  layout.scale = AffineMap::get(rank, 0, scaleSize == shape[1] ? channel : dim(1), context);
  layout.stat = AffineMap::get(rank, 0, {dim(0), dim(1)}, context);
  return layout;
}

Type kedge::statType(Type element) {
  return element.isF64() ? element : Type(Float32Type::get(element.getContext()));
}

Normalized kedge::normalize(ClusterBodyBuilder &body, Value x, int64_t count, double epsilon) {
  Value n = body.constant(x.getType(), count);
  Value mean = body.div(body.sum(x), n);
  Value centered = body.sub(x, mean);
  Value variance = body.div(body.sum(body.mul(centered, centered)), n);
  Value invstd = body.rsqrt(body.add(variance, body.constant(x.getType(), epsilon)));
  return {mean, variance, invstd, body.mul(centered, invstd)};
}

Normalized kedge::normalizeUncentered(ClusterBodyBuilder &body, Value x, int64_t count, double epsilon) {
  Value square = body.div(body.sum(body.mul(x, x)), body.constant(x.getType(), count));
  Value invstd = body.rsqrt(body.add(square, body.constant(x.getType(), epsilon)));
  return {Value(), square, invstd, body.mul(x, invstd)};
}

Value kedge::scaleAndShift(ClusterBodyBuilder &body, Value value, Value scale, Value bias) {
  Value scaled = body.mul(value, body.cast(scale, value.getType()));
  return bias ? body.add(scaled, body.cast(bias, value.getType())) : scaled;
}

Value kedge::toResult(ClusterBodyBuilder &body, Value value, Value result) {
  return body.cast(value, bodyType(elementOf(result)));
}

void kedge::buildNormGradient(OpBuilder &builder, Location loc, const NormLayout &layout, Value dY, Value x,
                              Value scale, Value bias, Value mean, Value invstd,
                              SmallVectorImpl<Value> &grads) {
  auto input = train::NormGradOp::create(builder, loc, x.getType(), dY, x, scale, invstd, mean, layout.domain,
                                         layout.reduced, layout.data, layout.scale, layout.stat);
  grads.push_back(input.getDX());
  buildNormParamGradient(builder, loc, layout, dY, x, scale, bias, mean, invstd, grads);
}

void kedge::buildNormParamGradient(OpBuilder &builder, Location loc, const NormLayout &layout, Value dY,
                                   Value x, Value scale, Value bias, Value mean, Value invstd,
                                   SmallVectorImpl<Value> &grads) {
  auto params = train::NormParamGradOp::create(builder, loc, scale.getType(), bias ? bias.getType() : Type(),
                                               dY, x, invstd, mean, layout.domain, layout.reduced,
                                               layout.data, layout.scale, layout.stat);
  grads.push_back(params.getDScale());
  if (bias)
    grads.push_back(params.getDBias());
}
