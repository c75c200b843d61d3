// --export-onnx: the model that was compiled, with the values that the states have now.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

/// Throws rt::Error when the program holds no skeleton for this mode.
const nlohmann::json &exportSkeleton(const Program &program, bool trainingMode);

/// Writes `path` atomically. `model`: --model, or empty for the place where it was compiled.
void exportOnnx(const std::string &path, const Executor &executor, const ProgramImage &image,
                const std::string &model, bool trainingMode);

} // namespace kedge::rt
