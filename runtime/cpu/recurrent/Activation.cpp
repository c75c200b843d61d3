#include "runtime/cpu/recurrent/Activation.h"
#include <algorithm>
#include <cctype>
#include <cmath>

namespace kedge::rt::cpu {
using namespace calls;

namespace {

struct Facts {
  const char *name;
  Activation::Kind kind;
  double alpha, beta; ///< ONNX's defaults
  bool takesAlpha, takesBeta;
};

using Kind = Activation::Kind;
constexpr Facts kFacts[] = {
    {"relu", Kind::Relu, 0, 0, false, false},
    {"tanh", Kind::Tanh, 0, 0, false, false},
    {"sigmoid", Kind::Sigmoid, 0, 0, false, false},
    {"affine", Kind::Affine, 1, 0, true, true},
    {"leakyrelu", Kind::LeakyRelu, 0.01, 0, true, false},
    {"thresholdedrelu", Kind::ThresholdedRelu, 1, 0, true, false},
    {"scaledtanh", Kind::ScaledTanh, 1, 1, true, true},
    {"hardsigmoid", Kind::HardSigmoid, 0.2, 0.5, true, true},
    {"elu", Kind::Elu, 1, 0, true, false},
    {"softsign", Kind::Softsign, 0, 0, false, false},
    {"softplus", Kind::Softplus, 0, 0, false, false},
};

const Facts &factsOf(const LibraryCall &call, std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const Facts &facts : kFacts)
    if (name == facts.name)
      return facts;
  failCall(call, "activation '{}' is not known", name);
}

} // namespace

double Activation::operator()(double x) const {
  switch (kind) {
  case Kind::Relu:
    return std::max(0.0, x);
  case Kind::Tanh:
    return std::tanh(x);
  case Kind::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case Kind::Affine:
    return alpha * x + beta;
  case Kind::LeakyRelu:
    return x < 0 ? alpha * x : x;
  case Kind::ThresholdedRelu:
    return x > alpha ? x : 0;
  case Kind::ScaledTanh:
    return alpha * std::tanh(beta * x);
  case Kind::HardSigmoid:
    return std::clamp(alpha * x + beta, 0.0, 1.0);
  case Kind::Elu:
    return x < 0 ? alpha * std::expm1(x) : x;
  case Kind::Softsign:
    return x / (1 + std::abs(x));
  case Kind::Softplus:
    return std::log1p(std::exp(x));
  }
  return x;
}

std::vector<Activation> readActivations(const LibraryCall &call, const std::vector<std::string> &missing,
                                        int64_t directions) {
  std::vector<std::string> names = stringsAttr(call, "activations");
  if (names.empty())
    for (int64_t d = 0; d < directions; ++d)
      names.insert(names.end(), missing.begin(), missing.end());
  if (names.size() != missing.size() * static_cast<size_t>(directions))
    failCall(call, "{} activations, expected {}", names.size(), missing.size() * directions);
  std::vector<double> alphas = floatsAttr(call, "activation_alpha", {}),
                      betas = floatsAttr(call, "activation_beta", {});
  std::vector<Activation> activations;
  size_t nextAlpha = 0, nextBeta = 0;
  for (const std::string &name : names) {
    const Facts &facts = factsOf(call, name);
    double alpha = facts.takesAlpha && nextAlpha < alphas.size() ? alphas[nextAlpha++] : facts.alpha;
    double beta = facts.takesBeta && nextBeta < betas.size() ? betas[nextBeta++] : facts.beta;
    activations.push_back({facts.kind, alpha, beta});
  }
  return activations;
}

} // namespace kedge::rt::cpu
