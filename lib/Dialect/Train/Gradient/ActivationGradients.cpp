// Gradients of activations. "Saved" is the operand unless the comment says the result.
#include "lib/Dialect/ONNX/ScalarMath.h"
#include "lib/Dialect/Train/Gradient/PointwiseGradients.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::train;

using Point = PointwiseScalars;
using Compare = ClusterBodyBuilder::Compare;

/// The gradient as it is where x > 0, else times `slope`.
static Value unlessPositive(const Point &p, Value slope) {
  return p.body.select(p.is(Compare::GT, p.saved(), 0), p.grad(), p.times(slope));
}

/// Of the result y; NaN passes the gradient, as in PyTorch.
static Value reluGradient(const Point &p) {
  return p.body.select(p.is(Compare::LE, p.saved(), 0), p.number(0), p.grad());
}

/// Of the result y: y (1 - y).
static Value sigmoidGradient(const Point &p) {
  return p.times(p.body.mul(p.saved(), p.body.sub(p.number(1), p.saved())));
}

/// Of the result y: 1 - y^2.
static Value tanhGradient(const Point &p) {
  return p.times(p.body.sub(p.number(1), p.body.mul(p.saved(), p.saved())));
}

static Value softplusGradient(const Point &p) { return p.times(p.body.sigmoid(p.saved())); }

static Value softsignGradient(const Point &p) {
  Value width = p.body.add(p.number(1), p.body.abs(p.saved()));
  return p.body.div(p.grad(), p.body.mul(width, width));
}

static Value hardSwishGradient(const Point &p) {
  Value x = p.saved();
  Value middle = p.times(p.body.add(p.body.mul(x, p.number(1.0 / 3)), p.number(0.5)));
  Value upper = p.body.select(p.is(Compare::LT, x, 3), middle, p.grad());
  return p.body.select(p.is(Compare::LE, x, -3), p.number(0), upper);
}

/// t + x (1 - t^2) sigmoid(x) with t = tanh(softplus(x)).
static Value mishGradient(const Point &p) {
  ClusterBodyBuilder &body = p.body;
  Value x = p.saved(), t = body.tanh(softplus(body, x));
  Value bend = body.mul(body.mul(x, body.sigmoid(x)), body.sub(p.number(1), body.mul(t, t)));
  return p.times(body.add(t, bend));
}

static Value leakyReluGradient(const Point &p) { return unlessPositive(p, p.numberOf("alpha")); }

static Value eluGradient(const Point &p) {
  return unlessPositive(p, p.body.mul(p.numberOf("alpha"), p.body.exp(p.saved())));
}

static Value celuGradient(const Point &p) {
  return unlessPositive(p, p.body.exp(p.body.div(p.saved(), p.numberOf("alpha"))));
}

static Value seluGradient(const Point &p) {
  Value slope = p.body.mul(p.numberOf("alpha"), p.body.exp(p.saved()));
  return p.body.mul(p.numberOf("gamma"), unlessPositive(p, slope));
}

static Value thresholdedReluGradient(const Point &p) {
  return p.gradIf(p.is(Compare::GT, p.saved(), p.parameter("alpha")));
}

static Value hardSigmoidGradient(const Point &p) {
  Value alpha = p.numberOf("alpha");
  Value line = p.body.add(p.body.mul(alpha, p.saved()), p.numberOf("beta"));
  Value inside = p.body.logicalAnd(p.is(Compare::GT, line, 0), p.is(Compare::LT, line, 1));
  return p.body.select(inside, p.times(alpha), p.number(0));
}

static Value shrinkGradient(const Point &p) {
  return p.gradIf(p.is(Compare::GT, p.body.abs(p.saved()), p.parameter("lambd")));
}

static Value preluGradient(const Point &p) { return unlessPositive(p, p.saved(1)); }

static Value preluSlopeGradient(const Point &p) {
  return p.body.select(p.is(Compare::GT, p.saved(), 0), p.number(0), p.times(p.saved()));
}

void kedge::train::addActivationGradients(PointwiseGradients &table) {
  using F = PointwiseFunction;
  table.insert({{F::Relu, {reluGradient, 2}},
                {F::Sigmoid, {sigmoidGradient, 2}},
                {F::Tanh, {tanhGradient, 2}},
                {F::Softplus, {softplusGradient, 2}},
                {F::Softsign, {softsignGradient, 2}},
                {F::HardSwish, {hardSwishGradient, 2}},
                {F::Mish, {mishGradient, 2}},
                {F::LeakyRelu, {leakyReluGradient, 2}},
                {F::Elu, {eluGradient, 2}},
                {F::Celu, {celuGradient, 2}},
                {F::Selu, {seluGradient, 2}},
                {F::ThresholdedRelu, {thresholdedReluGradient, 2}},
                {F::HardSigmoid, {hardSigmoidGradient, 2}},
                {F::Shrink, {shrinkGradient, 2}},
                {F::PRelu, {preluGradient, 3}},
                {F::PReluSlope, {preluSlopeGradient, 2}}});
}
