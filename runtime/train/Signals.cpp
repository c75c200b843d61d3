#include "runtime/train/Signals.h"
#include <csignal>
#include <unistd.h>

namespace kedge::rt {
namespace {

volatile std::sig_atomic_t signalNumber = 0;

void remember(int number) {
  if (signalNumber != 0 && signalNumber != SIGPIPE) // Ctrl-C also ends who reads the display
    _exit(128 + number);
  signalNumber = number;
}

void install(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

} // namespace

void catchSignals() {
  install(SIGINT, remember);
  install(SIGTERM, remember);
  struct sigaction before{};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) // nohup stays as it is
    install(SIGHUP, remember);
  install(SIGXFSZ, SIG_IGN);
}

void noteLostDisplay() {
  if (signalNumber == 0)
    signalNumber = SIGPIPE;
}

int caughtSignal() { return signalNumber; }

void forgetSignals() { signalNumber = 0; }

} // namespace kedge::rt
