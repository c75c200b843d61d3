// Checks that trained states are finite before they are exported or saved.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

/// Throws, on all ranks, if a state that steps write contains a non-finite
/// value after step `step`. `consequence` goes into the message.
void checkStatesFinite(const Executor &executor, int64_t step, const char *consequence);

/// The same of the weights that a run begins with.
void checkFirstStatesFinite(const Executor &executor);

} // namespace kedge::rt
