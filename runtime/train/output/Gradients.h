// --dump-gradients and --inject-gradient.
#pragma once
#include "runtime/program/Options.h"
#include "runtime/train/Step.h"

namespace kedge::rt {

class GradientTools : public GradientWatch {
public:
  GradientTools(Executor &executor, const Options &options);
  void visit(const Function &function, int launch, int64_t step, double items) override;
  bool wants(int64_t step) const override;
  /// Whether one of the two options was given.
  bool needed() const;
  /// Writes the dumped gradients of a step after it; throws if the gradient of a parameter is missing.
  void finishStep(int64_t step);

private:
  const char *wholeOf(const State &state, const GradientPlace &place, std::vector<char> &gathered) const;
  void dump(const Function &function, const GradientPlace &place, double items);

  Executor &executor;
  const Options &options;
  /// in fp32, with the layout of the exported file
  std::map<std::string, std::vector<float>> gradients;
};

} // namespace kedge::rt
