// Writes a model that the compiler made as an ONNX file.
#pragma once
#include "lib/Model/Model.h"

namespace kedge::driver {

/// Weights that are External stay where they are; others are written into the file, at once or not at all.
/// Throws kedge::Error when that is not possible.
void writeModel(const model::Model &model, const std::string &path);

} // namespace kedge::driver
