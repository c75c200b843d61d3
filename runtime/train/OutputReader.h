// The rows of an output that an evaluation function makes, whole or in parts.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

const Place *outputOf(const Program &program, const char *function, const std::string &name);

/// The function that keeps the output: @predict, else @eval; null without any.
const char *functionWith(const Program &program, const std::string &name);

/// The float outputs of evaluation, each once; what `--logits` chose from.
std::vector<std::string> floatOutputs(const Program &program);

/// Collects an output while its function runs: parts as they come, a whole one at the end.
class OutputReader : public LaunchObserver {
public:
  OutputReader(const Executor &executor, const char *function, const std::string &name, DType type);

  bool watches(const Function &, int launch) const override { return find(launch) != nullptr; }
  bool afterLaunch(const Function &, int launch) override;

  /// All rows, converted to the type; call it when the function has run.
  const char *finish();

private:
  const Place *find(int launch) const;
  void read(const Place &place, int64_t first, int64_t elements);

  const Executor &executor;
  DType type;
  std::vector<const Place *> places;
  std::vector<char> rows;
};

} // namespace kedge::rt
