// Threads and the processors that they run on.
#pragma once
#include <atomic>
#include <cstdint>

namespace kedge::rt::platform {

/// Sleeps while `word` is `seen`, until wakeAll(word); may return earlier.
void sleepWhile(std::atomic<uint32_t> &word, uint32_t seen);
void wakeAll(std::atomic<uint32_t> &word);

/// The calling thread, for which others wait and which computes little, wakes when it asked to, to about a
/// microsecond where the system can do that, and gets a processor soon (on Linux by PR_SET_TIMERSLACK and
/// sched_setattr(2), which asks for the shortest slices: from Linux 6.12 on it takes the processor when it
/// wakes, where it would wait for the end of the slice, of milliseconds, of who computes there. Earlier
/// kernels do not heed it).
void runPromptly();

/// Physical cores that this process may use, and those of the machine. At least 1.
int usableCores();
int machineCores();

/// Whether the system saves the registers of AMX's tiles for this process from now on.
bool mayUseTiles();

} // namespace kedge::rt::platform
