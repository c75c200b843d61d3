#include "runtime/train/Signals.h"
#include "runtime/platform/Process.h"
#include <csignal>

namespace kedge::rt {
namespace {

volatile std::sig_atomic_t signalNumber = 0;

void remember(int number) {
  if (signalNumber != 0 && signalNumber != platform::kBrokenPipe) // Ctrl-C also ends who reads the display
    platform::endProcess(128 + number);
  signalNumber = number;
}

} // namespace

void catchSignals() { platform::catchEnds(remember); }

void noteLostDisplay() {
  if (signalNumber == 0)
    signalNumber = platform::kBrokenPipe;
}

int caughtSignal() { return signalNumber; }

void forgetSignals() { signalNumber = 0; }

} // namespace kedge::rt
