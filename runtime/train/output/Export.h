// --export-onnx: the compiled model with the current values of the states.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

/// `mode`: training, inference or adapters. Throws rt::RuntimeError if the program has no skeleton for it.
const nlohmann::json &exportTemplate(const Program &program, const char *mode);

/// Writes `path` atomically; adapters are merged into their weights but in the mode that keeps them. `model`:
/// --model, or empty for the place where it was compiled.
void exportOnnx(const std::string &path, const Executor &executor, const ProgramImage &image,
                const std::string &model, const char *mode);

} // namespace kedge::rt
