// What training has made of the states, looked at before it leaves the program.
#pragma once
#include "runtime/exec/Executor.h"

namespace kedge::rt {

/// Throws, on all ranks alike, when a state that steps write holds a value that is not finite after step `step`.
/// `consequence`: what comes of it, for the message.
void checkStatesFinite(const Executor &executor, int64_t step, const char *consequence);

} // namespace kedge::rt
