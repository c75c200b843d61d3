// SIGINT and SIGTERM: the step is finished, a checkpoint is written, the program ends.
#pragma once

namespace kedge::rt {

/// From now on the first SIGINT or SIGTERM is remembered; a second one ends the process at once. Writes that
/// exceed the file size limit, fail instead of killing the process.
void catchSignals();

/// Standard error takes no more text: as if SIGPIPE had come, which itself is ignored (StandardFiles.h).
void noteLostDisplay();

/// Number of the signal that came, 0 when none did.
int caughtSignal();

/// Forgets a signal; for runs in one process, one after the other.
void forgetSignals();

} // namespace kedge::rt
