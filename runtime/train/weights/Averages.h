// --eval-ema, --export-ema: the moving averages of the weights in the place of the weights.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

/// Throws rt::Error that names `flag` if the program keeps no averages.
void checkAverages(const Program &program, const char *flag);

/// The average of each parameter becomes its value: a run begins.
void startAverages(Executor &executor);

/// Parameters and their averages change places, and what follows from parameters is computed again. On all
/// ranks at once.
void exchangeAverages(Executor &executor);

/// Runs `body` on the averages if `wanted`.
template <typename Body> auto onAverages(Executor &executor, bool wanted, Body &&body) {
  if (!wanted)
    return body();
  exchangeAverages(executor);
  auto result = body();
  exchangeAverages(executor);
  return result;
}

} // namespace kedge::rt
