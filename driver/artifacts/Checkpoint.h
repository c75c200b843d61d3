// The checkpoint of ONNX Runtime's training API: values of the parameters and which of them train.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::driver {

struct TrainedValues {
  /// Shapes and places of the values in the file.
  std::vector<model::Tensor> trained, frozen;
  bool holdsOptimizer = false; ///< moments of an optimizer, beside the values
};

/// Throws kedge::Error for what is no such file, is damaged, or keeps its values in a file beside it.
TrainedValues readCheckpoint(const std::string &path);

} // namespace kedge::driver
