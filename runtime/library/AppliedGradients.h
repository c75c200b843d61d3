// The update of a step, with gradients of the caller's.
#pragma once
#include "runtime/train/Step.h"

namespace kedge::rt {

class AppliedGradients : public StepSource, private LaunchObserver {
public:
  /// The gradient of a parameter's state, laid out as in the exported file; null: zeros.
  using Given = std::function<const float *(const std::string &state)>;

  AppliedGradients(Executor &executor, const StepParts &parts, const RunScalars &scalars, Given given);

  StepResult run(const RunProgress &progress) override;
  [[noreturn]] void explainOverflow(const RunProgress &progress, const StepResult &result,
                                    const std::string &head, const std::string &help) override;

private:
  bool watches(const Function &function, int launch) const override;
  bool skips(const Function &, int launch) const override { return parts.readsRows(launch); }
  bool afterLaunch(const Function &function, int launch) override;
  void begin(const RunProgress &progress);

  Executor &executor;
  const Program &program;
  const StepParts &parts;
  const RunScalars &scalars;
  Given given;
  ScalarWriter writer;
  const ResultSlot *items, *norm;
};

} // namespace kedge::rt
