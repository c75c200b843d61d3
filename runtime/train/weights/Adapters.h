// Low-rank adapters in a run: initial values from a folder, weights with adapters merged in, and writing of
// folders.
#pragma once
#include "runtime/exec/Executor.h"
#include "runtime/format/AdapterFolder.h"
#include "runtime/program/Options.h"
#include "runtime/train/checkpoint/WholeStates.h"
#include "runtime/train/weights/WeightSource.h"

namespace kedge::rt {

/// Number of weights with an adapter.
int64_t countAdapted(const Program &program);

/// Throws if an option is about adapters and the program has none, or if it names something that cannot be
/// written.
void checkAdapterOptions(const Program &program, const Options &options);

/// The folder of --adapter: values for the program's adapters and for the other states that train.
class GivenAdapter final : public WeightSource {
public:
  /// Throws rt::RuntimeError unless the folder has exactly the program's adapters, with their scales.
  GivenAdapter(const Program &program, const std::string &folder);
  bool fill(const State &state, char *destination) override;

private:
  std::string keyOf(const State &state) const;
  /// Scales and rows of the folder are those of the program.
  void checkOthers(const std::string &path) const;

  const Program &program;
  AdapterFolder folder;
};

/// The values, in f32, of frozen weights that have adapters or are in few bits.
class MergedWeights {
public:
  /// If `adds` is false, adapters are left out.
  MergedWeights(const Executor &executor, WholeStates &states, bool adds = true)
      : executor(executor), states(states), adds(adds) {}
  bool has(const State &state) const;
  std::vector<int64_t> shapeOf(const State &state) const;
  /// Valid until the next call.
  const void *fetch(const State &state);

private:
  std::vector<float> floatsOf(const State &state);
  void addFactors(const State &state);

  const Executor &executor;
  WholeStates &states;
  const bool adds;
  std::vector<float> values;
};

/// Writes `folder` in peft's format.
void exportAdapter(const std::string &folder, const Executor &executor);

} // namespace kedge::rt
