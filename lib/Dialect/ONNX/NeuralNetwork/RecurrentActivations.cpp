#include "lib/Dialect/ONNX/NeuralNetwork/RecurrentActivations.h"
#include "kedge/Dialect/ONNX/GradientBuilder.h"
#include "kedge/Dialect/ONNX/Math/ActivationOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::onnx;

namespace {
struct Parameters {
  double alpha, beta; // ONNX's defaults
  bool takesAlpha, takesBeta;
};

Parameters parametersOf(StringRef name) {
  return llvm::StringSwitch<Parameters>(name)
      .Case("affine", {1, 0, true, true})
      .Case("leakyrelu", {0.01, 0, true, false})
      .Case("thresholdedrelu", {1, 0, true, false})
      .Case("scaledtanh", {1, 1, true, true})
      .Case("hardsigmoid", {0.2, 0.5, true, true})
      .Case("elu", {1, 0, true, false})
      .Default({0, 0, false, false});
}
} // namespace

RecurrentActivations::RecurrentActivations(ArrayAttr names, ArrayRef<float> alphas, ArrayRef<float> betas,
                                           ArrayRef<StringRef> missing, int64_t directions)
    : perDirection(missing.size()) {
  auto take = [](ArrayRef<float> &given, bool takes, double otherwise) {
    if (!takes || given.empty())
      return otherwise;
    double value = given.front();
    given = given.drop_front();
    return value;
  };
  for (int64_t k = 0; k < directions * perDirection; ++k) {
    StringRef given = names ? cast<StringAttr>(names[k]).getValue() : missing[k % perDirection];
    Parameters facts = parametersOf(given.lower());
    double alpha = take(alphas, facts.takesAlpha, facts.alpha);
    functions.push_back({given.lower(), alpha, take(betas, facts.takesBeta, facts.beta)});
  }
}

bool RecurrentActivations::known() const {
  static const StringRef names[] = {
      "relu",       "tanh",        "sigmoid", "affine",   "leakyrelu", "thresholdedrelu",
      "scaledtanh", "hardsigmoid", "elu",     "softsign", "softplus"};
  return llvm::all_of(functions,
                      [](const Function &function) { return llvm::is_contained(names, function.name); });
}

Value RecurrentActivations::apply(OpBuilder &builder, Location loc, int64_t direction, int64_t k,
                                  Value x) const {
  const Function &function = functions[direction * perDirection + k];
  GradientBuilder math{builder, loc};
  StringRef name = function.name;
  auto number = [&](double value) { return builder.getF32FloatAttr(value); };
  auto constant = [&](double value) { return scalarLike(builder, loc, x, value); };
  if (name == "tanh")
    return TanhOp::create(builder, loc, x);
  if (name == "sigmoid")
    return SigmoidOp::create(builder, loc, x);
  if (name == "relu")
    return ReluOp::create(builder, loc, x);
  if (name == "affine")
    return math.add(math.scale(x, function.alpha), constant(function.beta));
  if (name == "leakyrelu")
    return LeakyReluOp::create(builder, loc, x, number(function.alpha));
  if (name == "thresholdedrelu")
    return ThresholdedReluOp::create(builder, loc, x, number(function.alpha));
  if (name == "scaledtanh")
    return math.scale(TanhOp::create(builder, loc, math.scale(x, function.beta)), function.alpha);
  if (name == "hardsigmoid")
    return HardSigmoidOp::create(builder, loc, x, number(function.alpha), number(function.beta));
  if (name == "elu")
    return EluOp::create(builder, loc, x, number(function.alpha));
  if (name == "softsign")
    return SoftsignOp::create(builder, loc, x);
  return SoftplusOp::create(builder, loc, x);
}
