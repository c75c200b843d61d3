// Checks that trained states are finite before they are exported or saved.
#pragma once
#include "runtime/exec/Executor.h"
#include "runtime/train/Schedule.h"

namespace kedge::rt {

/// What helps where --eps 0 made the values that are not finite; empty if it cannot have.
std::string epsilonHelp(const RunScalars &scalars, const Program &program);

/// Throws, on all ranks, if a state that steps write contains a non-finite
/// value after step `step`. `consequence` goes into the message.
void checkStatesFinite(const Executor &executor, int64_t step, const std::string &consequence);

/// The same of the weights that a run begins with.
void checkFirstStatesFinite(const Executor &executor);

} // namespace kedge::rt
