// The host's view of dynamic loss scaling: its states are logged, saved and resumed.
#pragma once
#include "runtime/exec/Executor.h"
#include <optional>
#include <string>

namespace kedge::rt {

struct LossScale {
  double scale = 1;
  int64_t growthCounter = 0, hysteresis = 1, optimizerSteps = 0;
};

/// Why a run with loss scaling ends, and what may help.
struct ScaleCollapse {
  std::string head, remedy;
};

class LossScaler {
public:
  /// Looks up the states once, so that a step allocates nothing.
  explicit LossScaler(Executor &executor);

  /// Whether the program scales its loss. Call read and write only if it does.
  bool isActive() const { return scale != nullptr; }
  LossScale read() const;
  void write(const LossScale &values);

  /// Call once after each step. Has a value if overflows have made the scale too small to continue or,
  /// with a fixed scale, if too many steps in a row overflowed. `before`, `after`: the scale around the step.
  std::optional<ScaleCollapse> collapse(const LossScale &before, const LossScale &after, int64_t step);

private:
  double load(const State &state) const;
  void store(const State &state, double value);

  Executor &executor;
  int64_t skipsInRow = 0;
  const State *scale, *growthCounter, *hysteresis, *optimizerSteps;
};

} // namespace kedge::rt
