// A thread that others wait for, and that computes little.
#pragma once

namespace kedge::rt {

/// The calling thread sleeps as long as it asks to, to about a microsecond (PR_SET_TIMERSLACK), and asks for
/// the shortest slices (sched_setattr(2), sched_runtime of SCHED_OTHER): from Linux 6.12 on it takes the
/// processor when it wakes, where it would wait for the end of the slice, of milliseconds, of who computes
/// there. Earlier kernels do not heed it.
void runPromptly();

} // namespace kedge::rt
