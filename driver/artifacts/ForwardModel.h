// The model that a training graph of ONNX Runtime was made from, with its loss.
#pragma once
#include "driver/artifacts/Checkpoint.h"

namespace kedge::driver {

struct ForwardModel {
  model::Model model; ///< with the checkpoint's values, and with what the file says of requires_grad
  std::string loss;   ///< the output that is minimized
};

/// Leaves out gradients and their buffers; what the loss is computed from becomes outputs, too. Throws
/// kedge::Error where parameters and checkpoint do not fit.
ForwardModel forwardModel(const model::Model &training, const TrainedValues &checkpoint);

} // namespace kedge::driver
