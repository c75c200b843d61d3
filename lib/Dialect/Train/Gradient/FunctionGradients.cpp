// Gradients of mathematical functions. "Saved" is the operand unless the comment says the result.
#include "lib/Dialect/ONNX/ScalarMath.h"
#include "lib/Dialect/Train/Gradient/PointwiseGradients.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

using Point = PointwiseScalars;
using Compare = ClusterBodyBuilder::Compare;

/// grad * slope, grad / slope, grad / sqrt(slope).
static Value over(const Point &p, Value slope) { return p.body.div(p.grad(), slope); }
static Value overRoot(const Point &p, Value square) { return over(p, p.body.sqrt(square)); }
static Value squareOf(const Point &p) { return p.body.mul(p.saved(), p.saved()); }
static Value onePlusSquare(const Point &p) { return p.body.add(p.number(1), squareOf(p)); }
static Value oneMinusSquare(const Point &p) { return p.body.sub(p.number(1), squareOf(p)); }

static Value absGradient(const Point &p) {
  Value positive = p.is(Compare::GT, p.saved(), 0), negative = p.is(Compare::LT, p.saved(), 0);
  return p.body.select(positive, p.grad(), p.body.select(negative, p.body.neg(p.grad()), p.number(0)));
}

/// Of the result y: -y^2.
static Value reciprocalGradient(const Point &p) { return p.body.neg(p.times(squareOf(p))); }
/// Of the result y: 1 / (2 y).
static Value sqrtGradient(const Point &p) { return over(p, p.body.add(p.saved(), p.saved())); }

static Value erfGradient(const Point &p) {
  Value bell = p.body.exp(p.body.neg(squareOf(p)));
  return p.times(p.body.mul(p.number(2 / std::sqrt(llvm::numbers::pi)), bell));
}

static Value sinGradient(const Point &p) { return p.times(p.body.cos(p.saved())); }
static Value cosGradient(const Point &p) { return p.body.neg(p.times(p.body.sin(p.saved()))); }
/// Of the result y: 1 + y^2.
static Value tanGradient(const Point &p) { return p.times(onePlusSquare(p)); }
static Value asinGradient(const Point &p) { return overRoot(p, oneMinusSquare(p)); }
static Value acosGradient(const Point &p) { return p.body.neg(asinGradient(p)); }
static Value atanGradient(const Point &p) { return over(p, onePlusSquare(p)); }
static Value asinhGradient(const Point &p) { return overRoot(p, onePlusSquare(p)); }
static Value acoshGradient(const Point &p) { return overRoot(p, p.body.sub(squareOf(p), p.number(1))); }
static Value atanhGradient(const Point &p) { return over(p, oneMinusSquare(p)); }

static Value hyperbolic(const Point &p, bool minus) {
  Value up = p.body.exp(p.saved()), down = p.body.exp(p.body.neg(p.saved()));
  Value sum = minus ? p.body.sub(up, down) : p.body.add(up, down);
  return p.times(p.body.mul(p.number(0.5), sum));
}
static Value sinhGradient(const Point &p) { return hyperbolic(p, /*minus=*/false); }
static Value coshGradient(const Point &p) { return hyperbolic(p, /*minus=*/true); }

/// Of operand a of max(a, b) or min(a, b): all of the gradient where a alone is chosen, half at ties.
static Value extremumOfTwoGradient(const Point &p, Compare loses) {
  ClusterBodyBuilder &body = p.body;
  Value tie = body.compare(Compare::EQ, p.saved(0), p.saved(1)),
        lost = body.compare(loses, p.saved(0), p.saved(1));
  Value half = body.mul(p.grad(), p.number(0.5));
  return body.select(tie, half, body.select(lost, p.number(0), p.grad()));
}
static Value maxGradient(const Point &p) { return extremumOfTwoGradient(p, Compare::LT); }
static Value minGradient(const Point &p) { return extremumOfTwoGradient(p, Compare::GT); }

/// Nothing passes on a bound, as in PyTorch (clamp by numbers, hardtanh, relu6).
static Value clipLowGradient(const Point &p) {
  return p.gradIf(p.body.compare(Compare::GT, p.saved(0), p.saved(1)));
}
static Value clipHighGradient(const Point &p) {
  return p.gradIf(p.body.compare(Compare::LT, p.saved(0), p.saved(1)));
}

static Value powConstantGradient(const Point &p) {
  double exponent = p.parameter("exponent");
  if (exponent == 0)
    return p.number(0);
  Value power = powerByConstant(p.body, p.saved(), exponent - 1);
  return p.times(p.body.mul(p.number(exponent), power));
}

/// b a^(b - 1), zero where b is zero.
static Value powBaseGradient(const Point &p) {
  Value base = p.saved(0), exponent = p.saved(1);
  Value slope = p.body.mul(exponent, p.body.pow(base, p.body.sub(exponent, p.number(1))));
  return p.body.select(p.is(Compare::EQ, exponent, 0), p.number(0), p.times(slope));
}

/// y log(a), zero where a is zero and b is not negative.
static Value powExponentGradient(const Point &p) {
  Value base = p.saved(0), exponent = p.saved(1), result = p.saved(2);
  Value flat = p.body.logicalAnd(p.is(Compare::EQ, base, 0), p.is(Compare::GE, exponent, 0));
  return p.body.select(flat, p.number(0), p.times(p.body.mul(result, p.body.log(base))));
}

void kedge::train::addFunctionGradients(PointwiseGradients &table) {
  using F = PointwiseFunction;
  table.insert({{F::Abs, {absGradient, 2}},           {F::Reciprocal, {reciprocalGradient, 2}},
                {F::Sqrt, {sqrtGradient, 2}},         {F::Erf, {erfGradient, 2}},
                {F::Sin, {sinGradient, 2}},           {F::Cos, {cosGradient, 2}},
                {F::Tan, {tanGradient, 2}},           {F::Asin, {asinGradient, 2}},
                {F::Acos, {acosGradient, 2}},         {F::Atan, {atanGradient, 2}},
                {F::Sinh, {sinhGradient, 2}},         {F::Cosh, {coshGradient, 2}},
                {F::Asinh, {asinhGradient, 2}},       {F::Acosh, {acoshGradient, 2}},
                {F::Atanh, {atanhGradient, 2}},       {F::Max, {maxGradient, 3}},
                {F::Min, {minGradient, 3}},           {F::ClipLow, {clipLowGradient, 3}},
                {F::ClipHigh, {clipHighGradient, 3}}, {F::PowConstant, {powConstantGradient, 2}},
                {F::PowBase, {powBaseGradient, 3}},   {F::PowExponent, {powExponentGradient, 4}}});
}
