// Threads of loops that another process keeps off their processor.
#pragma once

namespace kedge::rt {

constexpr int kMostSlots = 512;

/// The calling thread takes part in loops as `slot`, and others may wait for it from now on: for a helper
/// while a ThreadAtWork lives, for the caller of loops, slot 0, also between them. Forgotten when the thread
/// ends. Allocates nothing.
void noteLoopThread(int slot);

/// A helper has something to do. Of the calling thread, whose slot has been noted.
class ThreadAtWork {
public:
  ThreadAtWork();
  ~ThreadAtWork();
  ThreadAtWork(const ThreadAtWork &) = delete;
  ThreadAtWork &operator=(const ThreadAtWork &) = delete;
};

/// Called by a thread that is about to sleep until others have done their work. If one of them could
/// run and does not, both change processors: otherwise all would wait for a whole time slice of the
/// other process, as Linux moves threads only to processors that are idle for long. Takes some 20 us. Helpers
/// stay where they were put for a tenth of a second, or Linux would leave two of them on one processor and
/// another process alone on its own.
void makeRoomForDisplaced();

/// While it lives, the caller of loops is a thread of ours that starts no others, and stays as helpers do.
/// Otherwise, as in a library, it may go on elsewhere at once.
class CallerStays {
public:
  CallerStays();
  ~CallerStays();
  CallerStays(const CallerStays &) = delete;
  CallerStays &operator=(const CallerStays &) = delete;
};

/// Called between loops: threads may again run where they might before, once that time is over.
void letDisplacedGo();
/// The same at once: for who starts threads, as they may run where their producer may.
void letDisplacedGoNow();

} // namespace kedge::rt
