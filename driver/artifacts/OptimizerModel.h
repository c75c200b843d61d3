// What onnxruntime's optimizer_model.onnx says of the update.
#pragma once
#include <string>
#include <vector>

namespace kedge::driver {

struct OptimizerWords {
  std::string options;            ///< of kedge compile: "--optimizer adamw --beta1 0.9"
  std::vector<std::string> notes; ///< what differs
};

/// Throws kedge::Error for a file that holds none of onnxruntime's optimizers.
OptimizerWords readOptimizerModel(const std::string &path);

} // namespace kedge::driver
