// Biases of recurrent layers that Keras has once and ONNX twice.
#pragma once
#include "lib/Lint/Lint.h"

namespace kedge::lint {

/// Tensors of a file of tf2onnx whose recurrent half is all zeros: the layer has one bias, which tf2onnx
/// stores in the other half. A GRU with reset_after (linear_before_reset) has two biases.
std::set<std::string> heldHalves(const model::Model &);

/// Multiplies these by ones and zeros where their layers read them, so that the second half stays zero.
void holdHalves(model::Graph &, const std::set<std::string> &tensors);

} // namespace kedge::lint
