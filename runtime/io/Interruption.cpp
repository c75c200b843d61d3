#include "runtime/io/Interruption.h"
#include <chrono>

namespace kedge::rt {
namespace {

using Clock = std::chrono::steady_clock;

thread_local int (*asked)() = nullptr;
thread_local Clock::time_point begun;

} // namespace

Interruptible::Interruptible(int (*caught)()) {
  asked = caught;
  begun = Clock::now();
}

Interruptible::~Interruptible() { asked = nullptr; }

void askToGoOn() {
  const int signal = asked ? asked() : 0;
  if (signal != 0 && Clock::now() - begun > std::chrono::seconds(1))
    throw Interrupted{signal};
}

} // namespace kedge::rt
