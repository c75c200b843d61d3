// Which states go into which file of a checkpoint, under which name and layout.
#pragma once
#include "runtime/exec/Executor.h"
#include "runtime/format/TensorFile.h"

namespace kedge::rt {

inline constexpr const char *kModelFile = "model.safetensors";
inline constexpr const char *kOptimizerFile = "optimizer.safetensors";

/// A state under the name that it has in a file.
struct NamedState {
  const State *state = nullptr;
  std::string name;
};

/// Those whose values checkpoints hold in the model file: parameters, buffers and states, by their ONNX names.
std::vector<NamedState> checkpointModelStates(const Program &program);
/// Moments as "ROLE/ONNX NAME of the parameter", counters as "counter/NAME".
std::vector<NamedState> optimizerStates(const Program &program);

/// As the exported file has it: the whole tensor.
TensorOut wholeTensor(const Program &program, const NamedState &entry, std::function<const void *()> fetch);

/// The file of one rank's parts of what would be in `file`.
std::string partFile(const std::string &file, int64_t rank);

/// Arena axes against the file's: a state's own perm, or that of the parameter it belongs to.
std::vector<int> layoutOf(const Program &program, const State &state);

} // namespace kedge::rt
