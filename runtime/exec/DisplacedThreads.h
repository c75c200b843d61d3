// Threads of loops that another process keeps off their processor.
#pragma once

namespace kedge::rt {

/// The calling thread takes part in loops as `slot`, and others may wait for it from now on: always, or with
/// `idles` only while a ThreadAtWork lives. Forgotten when the thread ends. Allocates nothing.
void noteLoopThread(int slot, bool idles);

/// Of the calling thread, whose slot has been noted.
class ThreadAtWork {
public:
  explicit ThreadAtWork(int slot);
  ~ThreadAtWork();
  ThreadAtWork(const ThreadAtWork &) = delete;
  ThreadAtWork &operator=(const ThreadAtWork &) = delete;

private:
  int slot;
};

/// Called by a thread that is about to sleep until others have done their work. If one of them has something
/// to do and does not run, both change processors: otherwise all would wait for a whole time slice of the
/// other process, as Linux moves threads only to processors that are idle for long. Takes some 20 us. Helpers
/// stay where they were put for a tenth of a second, or Linux would leave two of them on one processor and
/// another process alone on its own.
void makeRoomForDisplaced();

/// The caller of loops is this program's own thread, and stays as helpers do. Without it, as in a library,
/// the caller may go on elsewhere at once.
void letCallerStay();

/// Called between loops: threads may again run where they might before, once that time is over.
void letDisplacedGo();

} // namespace kedge::rt
