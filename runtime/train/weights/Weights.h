// Initial values of states: from the compiled model's file, from the program itself, from --weights or from
// --init.
#pragma once
#include "runtime/exec/Executor.h"
#include "runtime/program/Options.h"
#include <functional>
#include <memory>

namespace kedge::rt {

struct WeightSources {
  std::string model;           ///< --model; empty: the path at compile time
  std::string weights;         ///< --weights
  bool weightsPartial = false; ///< tensors missing there keep the model's values
  std::string adapter;         ///< --adapter
  std::vector<InitSpec> init;
  int64_t seed = 0;
};

/// Is shown the initial values of a state, in the form of `as`, while they are in host memory.
using SeenValues = std::function<void(const State &state, const State &as, const char *values)>;

/// Sets every state to its initial value; with `onlyUnsaved` only states that checkpoints do not store
/// (constants, accumulators, frozen tensors). Opens the model file only if a state needs it, and checks that
/// it is the one compiled.
/// `seen` may be empty.
void loadInitialValues(Executor &executor, const ProgramImage &image, const WeightSources &sources,
                       bool onlyUnsaved, const SeenValues &seen = {});

class Loader;

/// Frozen tensors that the program uses in 16 bits are not stored more precisely. This class reads their
/// exact values from the original files again, for exports and hashes. It keeps these files open, even if
/// they are deleted.
class Originals : public OriginalValues {
public:
  /// `executor` and `image` must outlive this object.
  Originals(Executor &executor, const ProgramImage &image, const WeightSources &sources);
  ~Originals() override;
  bool has(const State &state) const override;
  const char *fetch(const State &state) override;

private:
  const WeightSources sources;
  std::unique_ptr<Loader> loader;
  std::vector<char> values;
};

/// Throws rt::RuntimeError unless the model file (`model`, or the path at compile time) is the one that was
/// compiled.
void checkModelFile(const Program &program, const std::string &model);

/// The path of a file of the compiled model when the model is at `model`: external data are beside it.
std::string placeOfModelFile(const Program &program, const std::string &model, size_t index);

/// Whether the state has a name in the exported file and in safetensors.
bool isModelTensor(const State &state);

/// The values of --init for `state`: Philox4x32-10 with key (seed, FNV-1a of the ONNX name)
/// and counter (element / 4), where element is the index in the exported file's layout.
void fillFrom(const InitSpec &spec, const State &state, int64_t seed, int threads, char *destination);

} // namespace kedge::rt
