// Windows raises threads that wait for a processor for long, and says of none whether it could run: nothing
// is done here.
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
