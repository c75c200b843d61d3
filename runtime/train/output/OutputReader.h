// Reads all rows of an output of an evaluation function, whether it is computed as a whole or in parts.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

const ArenaSlot *outputOf(const Program &program, const char *function, const std::string &name);

/// The function that has this output: @predict, else @eval; null if neither has it.
const char *functionWith(const Program &program, const std::string &name);

/// The float outputs of evaluation, each once; `--logits` chose one of them.
std::vector<std::string> floatOutputs(const Program &program);

/// Collects an output while its function runs: parts when they are ready, a whole output at the end.
class OutputReader : public LaunchObserver {
public:
  OutputReader(const Executor &executor, const char *function, const std::string &name, DType type);

  bool watches(const Function &, int launch) const override { return find(launch) != nullptr; }
  bool afterLaunch(const Function &, int launch) override;

  /// All rows, converted to the type. Call it after the function has run.
  const char *finish();

private:
  const ArenaSlot *find(int launch) const;
  void read(const ArenaSlot &place, int64_t first, int64_t elements);

  const Executor &executor;
  DType type;
  std::vector<const ArenaSlot *> places;
  std::vector<char> rows;
};

} // namespace kedge::rt
