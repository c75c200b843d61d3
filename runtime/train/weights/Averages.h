// --eval-ema, --export-ema: the moving averages of the weights in the place of the weights.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

/// Throws rt::RuntimeError that names `flag` if the program keeps no averages.
void checkAverages(const Program &program, const char *flag);

/// The average of each parameter becomes its value: a run begins.
void startAverages(Executor &executor);

/// The averages as the values of parameters, and back. On all ranks at once.
class AveragesAsWeights {
public:
  explicit AveragesAsWeights(Executor &executor) : executor(executor) {}
  /// Parameters and their averages change places where both are alike. Parameters in 16 bits are set aside,
  /// as they cannot hold an average, nor can it hold them without being lost; so are those of which this rank
  /// holds more than of their averages, which all ranks then give. What follows from parameters is computed
  /// again.
  void put();
  void takeBack();

private:
  void restore();
  Executor &executor;
  std::vector<std::pair<const State *, std::string>> aside;
};

/// Runs `body` on the averages if `wanted`.
template <typename Body> auto onAverages(Executor &executor, bool wanted, Body &&body) {
  if (!wanted)
    return body();
  AveragesAsWeights averages(executor);
  averages.put();
  auto result = body();
  averages.takeBack();
  return result;
}

} // namespace kedge::rt
