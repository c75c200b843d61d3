// kedge artifacts: what onnxruntime.training.artifacts.generate_artifacts() wrote, as an ONNX model with its
// loss and the options that compile it to the same training.
#pragma once
#include <string>

namespace kedge::driver {

/// Reads training_model.onnx, checkpoint and, if it is there, optimizer_model.onnx of the folder, and writes
/// the model to `output`. Returns what was read and the command that compiles it. Throws kedge::Error, and
/// then writes nothing.
std::string readArtifacts(const std::string &folder, const std::string &output);

} // namespace kedge::driver
