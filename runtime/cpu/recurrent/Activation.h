// The activation functions of onnx.LSTM, GRU and RNN.
#pragma once
#include "runtime/calls/Call.h"

namespace kedge::rt::cpu {
using namespace calls;

struct Activation {
  enum class Kind {
    Relu,
    Tanh,
    Sigmoid,
    Affine,
    LeakyRelu,
    ThresholdedRelu,
    ScaledTanh,
    HardSigmoid,
    Elu,
    Softsign,
    Softplus
  };
  Kind kind;
  double alpha, beta;

  double operator()(double x) const;
};

/// Reads `count` activations for each direction from the attributes activations, activation_alpha,
/// activation_beta.
std::vector<Activation> readActivations(const LibraryCall &call, const std::vector<std::string> &missing,
                                        int64_t directions);

} // namespace kedge::rt::cpu
