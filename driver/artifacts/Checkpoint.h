// The checkpoint of ONNX Runtime's training API: values of the parameters, and which are trainable.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::driver {

struct TrainedValues {
  /// Shapes, and offsets of the values in the file, which each tensor keeps mapped.
  std::vector<model::Tensor> trained, frozen;
  bool holdsOptimizer = false; ///< moments of an optimizer, beside the values
};

/// Throws kedge::Error for what is no such file, is damaged or of a newer version, or keeps its values
/// elsewhere.
TrainedValues readCheckpoint(const std::string &path);

} // namespace kedge::driver
