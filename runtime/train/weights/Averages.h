// Averages of the weights in the place of the weights: --eval-ema and --export-ema, and those of a
// schedule-free optimizer.
#pragma once
#include "runtime/exec/Executor.h"
#include "runtime/train/Schedule.h"
#include <optional>

namespace kedge::rt {

/// Throws rt::RuntimeError that names `flag` if the program keeps no averages.
void checkAverages(const Program &program, const char *flag);

/// Whether the program's optimizer trains other weights than those that it is evaluated with: schedule-free
/// ones do.
bool hasOwnAverages(const Program &program);

/// The average of each parameter becomes its value: a run begins.
void startAverages(Executor &executor);

/// The average that a parameter is evaluated with, as bytes of its state's type.
struct EvaluatedAverage {
  const State *state = nullptr; ///< the average's, which schedule-free optimizers keep in a form of their own
  std::string bytes;
};

/// Nothing where the optimizer has none of its own. The program has one rank.
std::optional<EvaluatedAverage> evaluatedAverage(const Executor &executor, const RunScalars &scalars,
                                                 const State &parameter);
/// The state of the average that the optimizer keeps of a parameter itself; null without.
const State *ownAverage(const Program &program, const State &parameter);

/// The averages as the values of parameters, and back. On all ranks at once.
class AveragesAsWeights {
public:
  AveragesAsWeights(Executor &executor, const RunScalars &scalars) : executor(executor), scalars(scalars) {}
  /// Parameters and their averages change places where both are alike. Parameters in 16 bits are set aside,
  /// as they cannot hold an average, nor can it hold them without being lost; so are those of which this rank
  /// holds more than of their averages, which all ranks then give, and those of a schedule-free optimizer,
  /// whose average follows from both. What follows from parameters is computed again.
  void put();
  void takeBack();

private:
  void restore();
  bool changePlaces(const State &parameter, const State &average) const;
  Executor &executor;
  const RunScalars &scalars;
  std::vector<std::pair<const State *, std::string>> aside;
};

/// Runs `body` on the averages if `wanted`, or if the optimizer has its own.
template <typename Body>
auto onAverages(Executor &executor, const RunScalars &scalars, bool wanted, Body &&body) {
  if (!wanted && !hasOwnAverages(executor.program()))
    return body();
  AveragesAsWeights averages(executor, scalars);
  averages.put();
  auto result = body();
  averages.takeBack();
  return result;
}

} // namespace kedge::rt
