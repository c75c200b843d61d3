// Shapes and bodies of the operators of ai.onnx.preview.training.
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Optimizer/OnnxOptimizerOps.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

namespace {
/// x times a number that is exact in the arithmetic of x.
Value times(ClusterBodyBuilder &b, Value x, double factor) {
  return factor == 1.0 ? x : b.mul(x, b.constant(x.getType(), factor));
}

/// The gradient with that of norm_coefficient / 2 |x|^2.
Value regularised(ClusterBodyBuilder &b, Value gradient, Value x, const APFloat &coefficient) {
  double factor = coefficient.convertToDouble();
  return factor == 0 ? gradient : b.add(times(b, x, factor), gradient);
}

LogicalResult typesOf(ValueRange values, SmallVectorImpl<Type> &types) {
  llvm::append_range(types, values.getTypes());
  return success();
}

/// base^exponent; an exponent of 0 is not asked for.
Value power(ClusterBodyBuilder &b, const APFloat &base, Value exponent) {
  Value logarithm = b.constant(exponent.getType(), std::log(base.convertToDouble()));
  return b.exp(b.mul(exponent, logarithm));
}
} // namespace

#define KEDGE_TYPES(OP, ...)                                                                                 \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,                \
                                     SmallVectorImpl<Type> &types) {                                         \
    return typesOf(__VA_ARGS__, types);                                                                      \
  }
KEDGE_TYPES(GradientOfOp, adaptor.getXs())
KEDGE_TYPES(VariableOp, {adaptor.getValue()})
KEDGE_TYPES(OnnxAdamRateOp, {adaptor.getRate()})
KEDGE_TYPES(OnnxAdamOp, {adaptor.getX(), adaptor.getV(), adaptor.getH()})
KEDGE_TYPES(OnnxAdagradOp, {adaptor.getX(), adaptor.getH()})
KEDGE_TYPES(OnnxMomentumOp, {adaptor.getX(), adaptor.getV()})
#undef KEDGE_TYPES

void OnnxAdamRateOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange v, SmallVectorImpl<Value> &results) {
  Type f64 = b.builder.getF64Type();
  Value count = b.cast(v[1], f64), one = b.constant(f64, 1);
  Value first = b.sub(one, power(b, getAlpha(), count));
  Value second = b.sqrt(b.sub(one, power(b, getBeta(), count)));
  Value corrected = b.cast(b.div(b.mul(b.cast(v[0], f64), second), first), v[0].getType());
  Value later = b.compare(ClusterBodyBuilder::Compare::GT, v[1], b.constantInt(v[1].getType(), 0));
  results.push_back(b.select(later, corrected, v[0]));
}

void OnnxAdamOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange in, SmallVectorImpl<Value> &results) {
  double alpha = getAlpha().convertToDouble(), beta = getBeta().convertToDouble();
  Value x = in[0], gradient = regularised(b, in[1], x, getNormCoefficient());
  Value v = b.add(times(b, in[2], alpha), times(b, gradient, 1 - alpha));
  Value h = b.add(times(b, in[3], beta), times(b, b.mul(gradient, gradient), 1 - beta));
  Value divisor = b.add(b.sqrt(h), b.constant(x.getType(), getEpsilon().convertToDouble()));
  Value moved = b.sub(x, b.mul(in[4], b.div(v, divisor)));
  results.append({times(b, moved, 1 - getNormCoefficientPost().convertToDouble()), v, h});
}

void OnnxAdagradOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange in, SmallVectorImpl<Value> &results) {
  Type type = in[0].getType();
  Value gradient = regularised(b, in[1], in[0], getNormCoefficient());
  Value decay = b.add(b.constant(type, 1), times(b, b.cast(in[4], type), getDecayFactor().convertToDouble()));
  Value h = b.add(in[2], b.mul(gradient, gradient));
  Value divisor = b.add(b.sqrt(h), b.constant(type, getEpsilon().convertToDouble()));
  results.append({b.sub(in[0], b.div(b.mul(b.div(in[3], decay), gradient), divisor)), h});
}

void OnnxMomentumOp::buildClusterBody(ClusterBodyBuilder &b, ValueRange in, SmallVectorImpl<Value> &results) {
  double alpha = getAlpha().convertToDouble();
  Value gradient = regularised(b, in[1], in[0], getNormCoefficient());
  Value later = b.compare(ClusterBodyBuilder::Compare::GT, in[4], b.constantInt(in[4].getType(), 0));
  Value added = b.select(later, times(b, gradient, getBeta().convertToDouble()), gradient);
  Value v = b.add(times(b, in[2], alpha), added);
  Value direction = getNesterov() ? b.add(gradient, times(b, v, alpha)) : v;
  results.append({b.sub(in[0], b.mul(in[3], direction)), v});
}
