// Which states go into which file of a checkpoint, under which name and layout.
#pragma once
#include "runtime/exec/Executor.h"
#include "runtime/format/TensorFile.h"

namespace kedge::rt {

inline constexpr const char *kModelFile = "model.safetensors";
inline constexpr const char *kOptimizerFile = "optimizer.safetensors";

/// Parameters, frozen tensors, buffers and states by their ONNX names.
std::vector<TensorOut> modelTensors(const Executor &executor);

/// Those whose values checkpoints hold: all but frozen tensors.
std::vector<TensorOut> checkpointModelTensors(const Executor &executor);

/// Moments as "ROLE/ONNX NAME of the parameter", counters as "counter/NAME".
std::vector<TensorOut> optimizerTensors(const Executor &executor);

/// Arena axes against the file's: a state's own perm, or that of the parameter it belongs to.
std::vector<int> layoutOf(const Program &program, const State &state);

} // namespace kedge::rt
