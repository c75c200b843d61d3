// Low-rank adapters in a run: first values from a folder, weights with theirs merged in, the folder that is written.
#pragma once
#include "runtime/exec/Executor.h"
#include "runtime/format/AdapterFolder.h"
#include "runtime/program/Options.h"
#include "runtime/train/WholeStates.h"

namespace kedge::rt {

/// Weights with an adapter.
int64_t countAdapted(const Program &program);

/// Throws when an option speaks of adapters and the program has none, or names what cannot be written.
void checkAdapterOptions(const Program &program, const Options &options);

/// The folder of --adapter: values for the program's adapters and what trains beside them.
class GivenAdapter {
public:
  /// Throws rt::Error unless the folder has just the program's adapters, with their scales.
  GivenAdapter(const Program &program, const std::string &folder);
  /// Whether the state's values are in the folder; then `destination` has them.
  bool fill(const State &state, char *destination) const;

private:
  std::string keyOf(const State &state) const;

  const Program &program;
  AdapterFolder folder;
};

/// Frozen weights as their adapters, or few bits, change them, in f32.
class MergedWeights {
public:
  /// Without `adds`, adapters are left out.
  MergedWeights(const Executor &executor, WholeStates &states, bool adds = true)
      : executor(executor), states(states), adds(adds) {}
  bool has(const State &state) const;
  std::vector<int64_t> shapeOf(const State &state) const;
  /// Valid until the next call.
  const void *fetch(const State &state);

private:
  std::vector<float> floatsOf(const State &state);

  const Executor &executor;
  WholeStates &states;
  const bool adds;
  std::vector<float> values;
};

/// Writes `folder` as peft loads it.
void exportAdapter(const std::string &folder, const Executor &executor);

} // namespace kedge::rt
