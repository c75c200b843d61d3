// Initial values of states: from the compiled model file, the program's own data, --weights or --init.
#pragma once
#include "runtime/exec/Executor.h"
#include "runtime/program/Options.h"
#include <memory>

namespace kedge::rt {

struct WeightSources {
  std::string model;   ///< --model; empty: where it was compiled
  std::string weights; ///< --weights
  bool weightsPartial = false; ///< what they lack keeps the model's values
  std::string adapter; ///< --adapter
  std::vector<InitSpec> init;
  int64_t seed = 0;
};

/// Gives every state its initial value; with `onlyUnsaved` just those whose values no checkpoint holds (constants,
/// accumulators, frozen tensors). Opens the model file only if a state needs it, and checks that it is the compiled one.
void loadInitialValues(Executor &executor, const ProgramImage &image, const WeightSources &sources,
                       bool onlyUnsaved);

class Loader;

/// Frozen tensors that the program computes with in 16 bits are held in no wider form: whoever wants all digits (exports,
/// hashes) reads them again from where they came. Keeps those files open, also when they are deleted.
class Originals : public OriginalValues {
public:
  /// `executor` and `image` outlive this object.
  Originals(Executor &executor, const ProgramImage &image, const WeightSources &sources);
  ~Originals() override;
  bool has(const State &state) const override;
  const char *fetch(const State &state) override;

private:
  const WeightSources sources;
  std::unique_ptr<Loader> loader;
  std::vector<char> values;
};

/// Throws rt::Error unless the model file (`model`, or where it was compiled) is the compiled one.
void checkModelFile(const Program &program, const std::string &model);

/// Where a file of the compiled model lies now that the model is at `model`: external data moves with it.
std::string placeOfModelFile(const Program &program, const std::string &model, size_t index);

/// True for what has a name in the exported file and safetensors.
bool isModelTensor(const State &state);

/// --init values: `state` from Philox4x32-10 with key (seed, FNV-1a of the ONNX name), counter = (element /
/// 4), element = index in the exported file's layout.
void fillFrom(const InitSpec &spec, const State &state, int64_t seed, int threads, char *destination);

} // namespace kedge::rt
