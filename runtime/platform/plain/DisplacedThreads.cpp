// Systems that say of no thread whether it could run, and raise those that wait for a processor for long
// (Windows), or let nobody choose a thread's processor (macOS): nothing is done here.
#include "runtime/platform/DisplacedThreads.h"

namespace kedge::rt {

void noteLoopThread(int) {}

ThreadAtWork::ThreadAtWork() = default;
ThreadAtWork::~ThreadAtWork() = default;

CallerStays::CallerStays() = default;
CallerStays::~CallerStays() = default;

void makeRoomForDisplaced() {}
void letDisplacedGo() {}
void letDisplacedGoNow() {}

} // namespace kedge::rt
