// On SIGINT, SIGTERM and SIGHUP the program finishes its step, writes a checkpoint and ends.
#pragma once
#include "runtime/io/Error.h"
#include <string>

namespace kedge::rt {

/// What a rank ends with when a signal comes before its first step.
struct EndedBySignal : RuntimeError {
  EndedBySignal(const std::string &text, int signal) : RuntimeError(text), signal(signal) {}
  int signal;
};

/// From now on the first SIGINT, SIGTERM or SIGHUP is remembered, and a second one ends the process
/// at once. Writes beyond the limit of file sizes fail, instead of ending the process.
void catchSignals();

/// Standard error accepts no more text: acts as on SIGPIPE, which itself is ignored (StandardFiles.h).
void noteLostDisplay();

/// The number of the signal that came; 0 if none did.
int caughtSignal();

/// Forgets the signal, so that a process can run several sessions one after the other.
void forgetSignals();

} // namespace kedge::rt
