// Which states a checkpoint stores, in which file, under which name and with which layout.
#pragma once
#include "runtime/exec/Executor.h"
#include "runtime/format/TensorFile.h"

namespace kedge::rt {

inline constexpr const char *kModelFile = "model.safetensors";
inline constexpr const char *kOptimizerFile = "optimizer.safetensors";

/// A state and its name in a file.
struct NamedState {
  const State *state = nullptr;
  std::string name;
};

/// States that a checkpoint stores in the model file, by ONNX name: parameters, buffers and states.
std::vector<NamedState> checkpointModelStates(const Program &program);
/// Moments as "ROLE/ONNX NAME of the parameter", counters as "counter/NAME".
std::vector<NamedState> optimizerStates(const Program &program);

/// The whole tensor as in the exported file.
TensorOut wholeTensor(const Program &program, const NamedState &entry, std::function<const void *()> fetch);

/// Name of the file with one rank's parts of the tensors that `file` would contain.
std::string partFile(const std::string &file, int64_t rank);

/// Arena axes relative to the file's axes: the state's own perm, or that of the parameter it belongs to.
std::vector<int> layoutOf(const Program &program, const State &state);

} // namespace kedge::rt
