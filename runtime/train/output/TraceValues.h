// --trace-values: every value of a step as it is made, for kedge diff.
#pragma once
#include "runtime/program/Options.h"
#include "runtime/train/Step.h"
#include <fstream>
#include <set>

namespace kedge::rt {

/// The file is a list of records: a line of JSON that describes a tensor, and its bytes. The first is of the
/// run, without bytes. States come before the first step and after each one, between them the inputs of each
/// function and what each launch writes, with the names of what it reads. Of several ranks each writes
/// FILE.rank-R: what it holds, and of a part of a state which elements of the tensor these are.
class TraceValues : public GradientWatch {
public:
  TraceValues(Executor &executor, const Options &options);
  bool needed() const { return !options.traceValues.empty(); }
  bool wants(int64_t) const override { return needed(); }
  bool seesEveryLaunch() const override { return needed(); }
  void visit(const Function &function, int launch, int64_t step, double items) override;
  void writeStates(int64_t completedSteps);

private:
  using Holder = std::pair<Space, uint64_t>;
  void writeInput(const Function &function, const ArenaSlot &input);
  void writeOutputs(const Function &function, int launch);
  void writeRecord(const nlohmann::json &record, const char *bytes, size_t count);
  std::string sourceOf(const Holder &holder) const;

  Executor &executor;
  const Options &options;
  std::string path;
  std::ofstream file;
  std::map<Holder, std::string> holders; ///< what lies there: a state, an input, a value
  std::set<Holder> states;               ///< places of states
  int64_t step = 0, run = 0;             ///< `run`: of functions in the step
};

} // namespace kedge::rt
