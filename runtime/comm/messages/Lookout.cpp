#include "runtime/comm/messages/Lookout.h"
#include "runtime/io/Error.h"
#include "runtime/io/LastCheckpoint.h"
#include "runtime/io/Say.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <unistd.h>

namespace kedge::rt::messages {
namespace {

constexpr std::chrono::milliseconds kRound{100};
/// Without a word from the progress thread, since a rank was found gone. That thread has half a second to
/// tell it, and mpirun ends the others two seconds after.
constexpr int kSilentRounds = 8;

} // namespace

void Lookout::begin() {
  processes = watch.processes();
  // Signals are the main thread's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Lookout::end() {
  {
    const std::lock_guard lock(mutex);
    ending = true;
  }
  wake.notify_one();
  if (thread.joinable())
    thread.join();
}

bool Lookout::isGone(size_t other) const {
  return processes[other] != 0 && kill(static_cast<pid_t>(processes[other]), 0) != 0 && errno == ESRCH;
}

int64_t Lookout::countGone() const {
  int64_t gone = 0;
  for (size_t other = 0; other < processes.size(); ++other)
    gone += isGone(other);
  return gone;
}

/// The first of the ranks that are left here speaks. One that goes later has spoken.
void Lookout::run() {
  int64_t first = 0;
  for (int silent = 0;;) {
    std::unique_lock lock(mutex);
    if (wake.wait_for(lock, kRound, [this] { return ending; }) || watch.hasSpoken())
      return;
    const int64_t gone = countGone();
    if (passed.exchange(false, std::memory_order_relaxed) || gone == 0) {
      silent = 0;
      continue;
    }
    if (silent++ == 0)
      first = gone;
    if (silent < kSilentRounds)
      continue;
    if (gone == first && !isFirstLeft())
      continue;
    if (gone == first)
      speak();
    std::fflush(nullptr);
    _exit(1);
  }
}

bool Lookout::isFirstLeft() const {
  for (size_t other = 0; static_cast<int64_t>(other) < rank; ++other)
    if (processes[other] != 0 && !isGone(other))
      return false;
  return true;
}

void Lookout::speak() {
  for (size_t other = 0; other < processes.size(); ++other)
    if (isGone(other))
      return say(fmt::format("kedge: error: {} is gone: its process {} has ended; {}",
                             watch.nameOf(static_cast<int64_t>(other)), processes[other], checkpointWords()));
}

} // namespace kedge::rt::messages
