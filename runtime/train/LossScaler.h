// The states of dynamic loss scaling as the host sees them: logged, saved, resumed.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

struct LossScale {
  double scale = 1;
  int64_t growthCounter = 0, hysteresis = 1, optimizerSteps = 0;
};

class LossScaler {
public:
  /// Looks the states up once: a step allocates nothing.
  explicit LossScaler(Executor &executor);

  /// Whether the program scales its loss; read and write are for those that do.
  bool isActive() const { return scale != nullptr; }
  LossScale read() const;
  void write(const LossScale &values);

  /// Throws rt::Error when an overflow has left the scale too small to go on (contract, section 2), or too many steps in a
  /// row overflowed at a scale that is fixed. Once a step; `before`, `after`: of it.
  void checkNotCollapsed(const LossScale &before, const LossScale &after, int64_t step);

private:
  double load(const State &state) const;
  void store(const State &state, double value);

  Executor &executor;
  int64_t skipsInRow = 0;
  const State *scale, *growthCounter, *hysteresis, *optimizerSteps;
};

} // namespace kedge::rt
