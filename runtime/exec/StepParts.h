// A step in two parts: one computes gradients and updates nothing, the other updates with given gradients.
#pragma once
#include "runtime/program/Program.h"

namespace kedge::rt {

/// Of each launch of the function that updates: @step, or @update where micro-batches come before it.
class StepParts {
public:
  /// Throws rt::RuntimeError if the program's step has no such parts.
  explicit StepParts(const Program &program);

  const Function &function() const { return *whole; }
  /// Whether it writes states that an optimizer's step changes. Buffers of the model are none.
  bool updates(int launch) const { return writesState[static_cast<size_t>(launch)]; }
  /// Whether it reads what comes from the step's rows, other than gradients and the number of items.
  bool readsRows(int launch) const { return ofRows[static_cast<size_t>(launch)]; }

  /// Whether the update has one of this state.
  bool hasGradient(const std::string &state) const;

private:
  void findUpdates(const Program &program);
  void findRows(const Program &program);
  void checkUpdates() const;

  const Function *whole;
  std::vector<bool> writesState, ofRows;
};

} // namespace kedge::rt
