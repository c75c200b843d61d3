#include "runtime/platform/DisplacedThreads.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <sched.h>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>

namespace kedge::rt {
namespace {

using Clock = std::chrono::steady_clock;

/// A thread that runs has used some of its time after this.
constexpr std::chrono::microseconds kLook{20};
/// How long helpers stay where they were put: some time slices of another process.
constexpr std::chrono::milliseconds kStay{100};

struct alignas(64) LoopThread {
  std::atomic<pid_t> id{0}; ///< 0: none
  std::atomic<bool> works{false};
  std::atomic<int> processor{-1}; ///< where it was when its last work began, or was put
  bool stays = false;             ///< where it was put; `usual` is where else it may run
  cpu_set_t usual{};
};

constinit LoopThread loopThreads[kMostSlots];
std::atomic<int> slots{0}; ///< noted ones are below
/// Held by the one that looks; `stays` and `usual` are its own.
std::atomic<bool> isLooking{false};
std::atomic<bool> callerStays{false};
std::atomic<int64_t> stayUntil{0}; ///< of Clock; 0: nobody stays

/// Forgets the slot when its thread ends: the system may give its number to another.
struct Noted {
  int slot = -1;
  pid_t id = 0;
  bool isCurrent() const { return slot >= 0 && loopThreads[slot].id.load(std::memory_order_relaxed) == id; }
  ~Noted() {
    if (isCurrent())
      loopThreads[slot].works.store(false), loopThreads[slot].id.store(0);
  }
};
thread_local Noted noted;

/// Nanoseconds of processor time, or -1. The clock of a thread by its number, as the C library makes it.
int64_t timeUsed(pid_t thread) {
  constexpr int kScheduled = 2, kOfThread = 4;
  const clockid_t clock =
      static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kScheduled | kOfThread);
  timespec time;
  return clock_gettime(clock, &time) == 0 ? int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec : -1;
}

/// Whether it could run: it does not wait for others, for a message or for a disk. Allocates nothing.
bool couldRun(pid_t thread) {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", static_cast<int>(thread));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  const ssize_t count = read(file, text, sizeof text);
  close(file);
  // "1234 (name) R ...", where the name may hold any characters.
  const std::string_view line(text, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  const size_t end = line.rfind(") ");
  return end != std::string_view::npos && line.substr(end + 2, 1) == "R";
}

/// Moves the thread to a processor that it may use, where a helper stays; false where it may not use it.
bool put(int slot, int processor) {
  LoopThread &thread = loopThreads[slot];
  const pid_t id = thread.id.load(std::memory_order_relaxed);
  if (!thread.stays && sched_getaffinity(id, sizeof thread.usual, &thread.usual) != 0)
    return false;
  if (!CPU_ISSET(processor, &thread.usual))
    return false;
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  CPU_SET(processor, &wanted);
  if (sched_setaffinity(id, sizeof wanted, &wanted) != 0)
    return false;
  thread.processor.store(processor, std::memory_order_relaxed);
  thread.stays = slot != 0 || callerStays.load(std::memory_order_relaxed);
  if (!thread.stays)
    sched_setaffinity(id, sizeof thread.usual, &thread.usual);
  return true;
}

/// A processor of the calling thread's, not `here`, on which no other thread of loops is at work; -1: none.
/// The system may have moved the calling thread: where it was last says nothing.
int freeProcessor(int count, int here) {
  cpu_set_t free;
  if (sched_getaffinity(0, sizeof free, &free) != 0)
    return -1;
  if (const LoopThread &own = loopThreads[noted.slot]; own.stays)
    free = own.usual;
  CPU_CLR(here, &free);
  for (int slot = 0; slot < count; ++slot)
    if (const int taken = loopThreads[slot].processor.load(std::memory_order_relaxed);
        taken >= 0 && slot != noted.slot && loopThreads[slot].works.load(std::memory_order_relaxed))
      CPU_CLR(taken, &free);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &free))
      return processor;
  return -1;
}

/// The calling thread and one that does not run change places; where both are in one place, the calling
/// thread leaves it.
void changePlaces(int slot, int count) {
  const int here = sched_getcpu(), there = loopThreads[slot].processor.load(std::memory_order_relaxed);
  if (here < 0)
    return;
  const int mine = here == there ? freeProcessor(count, here) : there;
  if (mine < 0 || !put(slot, here))
    return;
  put(noted.slot, mine);
  stayUntil.store((Clock::now() + kStay).time_since_epoch().count(), std::memory_order_relaxed);
}

void look() {
  constexpr int kMost = 64; // that are looked at
  std::array<int64_t, kMost> before;
  const int count = std::min(slots.load(std::memory_order_relaxed), kMost);
  const auto used = [&](int slot) {
    const LoopThread &thread = loopThreads[slot];
    const pid_t id = thread.id.load(std::memory_order_relaxed);
    return thread.works.load(std::memory_order_relaxed) && id != 0 && id != noted.id ? timeUsed(id) : -1;
  };
  for (int slot = 0; slot < count; ++slot)
    before[static_cast<size_t>(slot)] = used(slot);
  const auto end = Clock::now() + kLook;
  while (Clock::now() < end) {
  }
  for (int slot = 0; slot < count; ++slot)
    if (const int64_t then = before[static_cast<size_t>(slot)];
        then >= 0 && used(slot) == then && couldRun(loopThreads[slot].id.load(std::memory_order_relaxed)))
      return changePlaces(slot, count);
}

class Looking {
public:
  Looking() {
    while (isLooking.exchange(true, std::memory_order_acquire))
      std::this_thread::yield(); // some 20 us
  }
  ~Looking() { isLooking.store(false, std::memory_order_release); }
};

void letGo(LoopThread &thread) {
  if (std::exchange(thread.stays, false))
    sched_setaffinity(thread.id.load(std::memory_order_relaxed), sizeof thread.usual, &thread.usual);
}

} // namespace

void noteLoopThread(int slot) {
  LoopThread &thread = loopThreads[slot];
  thread.processor.store(sched_getcpu(), std::memory_order_relaxed);
  if (noted.slot == slot && noted.isCurrent())
    return;
  const Looking alone;
  letGo(thread); // another thread had this slot
  noted.slot = slot, noted.id = gettid();
  thread.id.store(noted.id);
  thread.works.store(slot == 0);
  slots.store(std::max(slots.load(), slot + 1));
}

ThreadAtWork::ThreadAtWork() {
  LoopThread &thread = loopThreads[noted.slot];
  thread.processor.store(sched_getcpu(), std::memory_order_relaxed);
  thread.works.store(true, std::memory_order_relaxed);
}
ThreadAtWork::~ThreadAtWork() { loopThreads[noted.slot].works.store(false, std::memory_order_relaxed); }

CallerStays::CallerStays() { callerStays.store(true, std::memory_order_relaxed); }
CallerStays::~CallerStays() {
  callerStays.store(false, std::memory_order_relaxed);
  letDisplacedGoNow();
}

void makeRoomForDisplaced() {
  // One at a time is enough: others go on.
  if (!noted.isCurrent() || isLooking.exchange(true, std::memory_order_acquire))
    return;
  look();
  isLooking.store(false, std::memory_order_release);
}

void letDisplacedGo() {
  const int64_t until = stayUntil.load(std::memory_order_relaxed);
  if (until != 0 && Clock::now().time_since_epoch().count() >= until)
    letDisplacedGoNow();
}

void letDisplacedGoNow() {
  const Looking alone;
  stayUntil.store(0, std::memory_order_relaxed);
  for (int slot = 0; slot < slots.load(std::memory_order_relaxed); ++slot)
    letGo(loopThreads[slot]);
}

} // namespace kedge::rt
