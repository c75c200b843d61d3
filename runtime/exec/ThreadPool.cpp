#include "runtime/exec/ThreadPool.h"
#include "runtime/exec/LentThreads.h"
#include "runtime/exec/Signal.h"
#include "runtime/io/Error.h"
#include "runtime/platform/DisplacedThreads.h"
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace kedge::rt {
namespace {

thread_local int slotOfThread = 0;
thread_local bool insideLoop = false;
thread_local const TaskRunner *lender = nullptr;

/// What the first part that throws (in order) has thrown.
class FirstFailure {
public:
  void note(int64_t part) {
    const std::scoped_lock lock(mutex_);
    if (!failure_ || part < part_)
      failure_ = std::current_exception(), part_ = part;
  }
  /// Throws it, and is empty again.
  void rethrow() {
    if (failure_)
      std::rethrow_exception(std::exchange(failure_, nullptr));
  }

private:
  std::mutex mutex_;
  std::exception_ptr failure_;
  int64_t part_ = 0;
};

/// A loop on lent threads. Each task has a slot of its own and takes parts until none is left: how many tasks
/// run at once changes nothing but the time.
struct LentLoop {
  int64_t parts;
  PartFunction function;
  void *body;
  std::atomic<int64_t> next{0};
  FirstFailure failure{};

  void work(int slot) {
    const int slotBefore = std::exchange(slotOfThread, slot);
    const bool insideBefore = std::exchange(insideLoop, true);
    for (int64_t part; (part = next.fetch_add(1, std::memory_order_relaxed)) < parts;) {
      try {
        function(body, part);
      } catch (...) {
        failure.note(part);
      }
    }
    slotOfThread = slotBefore;
    insideLoop = insideBefore;
  }
};

void runOnLent(const TaskRunner &runner, int threads, int64_t parts, PartFunction function, void *body) {
  LentLoop loop{parts, function, body};
  const int64_t tasks = std::min<int64_t>(std::clamp(threads, 1, kMostThreads), parts);
  runner.run(
      runner.self, tasks,
      [](void *self, int64_t slot) { static_cast<LentLoop *>(self)->work(static_cast<int>(slot)); }, &loop);
  loop.failure.rethrow();
}

/// The parts of one thread's share that nobody has begun, with the thread count of the loop: to take one is
/// to exchange the pair for one with a part less. Who succeeds has a part of the loop that is running now,
/// and so reads what the loop is (ThreadPool::Loop) after that, while it cannot change.
struct alignas(64) Share {
  std::atomic<uint64_t> ticket{0};
  int64_t end = 0; ///< of its parts

  static uint64_t ticketOf(int threads, int64_t left) {
    return static_cast<uint64_t>(threads) << 32 | static_cast<uint64_t>(left);
  }

  /// A part, or -1: none is left, or the loop has no place for this thread.
  int64_t take(int slot) {
    uint64_t seen = ticket.load(std::memory_order_acquire);
    while ((seen & UINT32_MAX) != 0 && slot < static_cast<int>(seen >> 32))
      if (ticket.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire))
        return end - static_cast<int64_t>(seen & UINT32_MAX);
    return -1;
  }
};

/// Of each slot; pages that no thread uses are never touched.
constinit Share shares[kMostThreads];
static_assert(kMostThreads <= kMostSlots);

class ThreadPool {
public:
  void start(int threads) {
    const std::scoped_lock lock(owner_);
    grow(std::clamp(threads, 1, kMostThreads));
  }

  /// False when another thread has the helpers.
  bool tryRun(int threads, int64_t parts, PartFunction function, void *body) {
    const std::unique_lock lock(owner_, std::try_to_lock);
    if (!lock)
      return false;
    threads = std::clamp(threads, 1, kMostThreads);
    grow(threads);
    publish(threads, parts, function, body);
    noteLoopThread(0);
    letDisplacedGo();
    insideLoop = true;
    takeParts(0);
    insideLoop = false;
    finished_.await([this] { return pending_.load(std::memory_order_acquire) == 0; }, makeRoomForDisplaced);
    failure_.rethrow();
    return true;
  }

private:
  void grow(int threads) {
    if (running_ < threads)
      letDisplacedGoNow();
    for (; running_ < threads; ++running_) {
      try {
        std::thread([this, slot = running_] { help(slot); }).detach();
      } catch (const std::system_error &error) {
        fail("cannot start {} threads, only {} run: {}; give fewer by --threads", threads, running_,
             error.what());
      }
    }
    finished_.await([this] { return alive_.load(std::memory_order_acquire) == running_ - 1; });
  }

  void publish(int threads, int64_t parts, PartFunction function, void *body) {
    function_ = function, body_ = body;
    pending_.store(parts, std::memory_order_relaxed);
    threads_.store(threads, std::memory_order_relaxed);
    for (int slot = 0; slot < threads; ++slot) {
      Share &share = shares[slot];
      const int64_t begin = parts * slot / threads;
      share.end = parts * (slot + 1) / threads;
      share.ticket.store(Share::ticketOf(threads, share.end - begin), std::memory_order_release);
    }
    startCount_.fetch_add(1, std::memory_order_release);
    started_.post();
  }

  void help(int slot) {
    slotOfThread = slot;
    insideLoop = true;
    noteLoopThread(slot);
    uint32_t seen = startCount_.load(std::memory_order_acquire);
    alive_.fetch_add(1, std::memory_order_release);
    finished_.post();
    for (;;) {
      started_.await([&] { return startCount_.load(std::memory_order_acquire) != seen; },
                     makeRoomForDisplaced);
      seen = startCount_.load(std::memory_order_acquire);
      const ThreadAtWork working;
      takeParts(slot);
    }
  }

  /// The own share first, then the next one's.
  void takeParts(int slot) {
    const int threads = threads_.load(std::memory_order_relaxed);
    int64_t done = 0;
    for (int step = 0; step < threads; ++step) {
      Share &share = shares[(slot + step) % threads];
      for (int64_t part; (part = share.take(slot)) >= 0; ++done)
        runPart(part);
    }
    if (done != 0 && pending_.fetch_sub(done, std::memory_order_acq_rel) == done)
      finished_.post();
  }

  void runPart(int64_t part) {
    try {
      function_(body_, part);
    } catch (...) {
      failure_.note(part);
    }
  }

  std::mutex owner_; ///< held while a loop runs
  int running_ = 1;  ///< threads, the caller's among them
  std::atomic<int> alive_{0};

  // The loop, with the shares: set before tickets are given out, constant until all its parts are done.
  PartFunction function_ = nullptr;
  void *body_ = nullptr;
  std::atomic<int> threads_{1}; ///< how many shares to look at; the tickets decide who takes part

  FirstFailure failure_;

  alignas(64) std::atomic<uint32_t> startCount_{0};
  Signal started_;
  alignas(64) std::atomic<int64_t> pending_{0};
  Signal finished_;
};

/// Never destroyed: its threads outlive what static objects would leave them.
ThreadPool &pool() {
  static auto *const threads = new ThreadPool;
  return *threads;
}

} // namespace

void startThreads(int threads) { pool().start(threads); }

int threadSlot() { return slotOfThread; }

void runParts(int threads, int64_t parts, PartFunction function, void *body) {
  if (threads > 1 && !insideLoop) {
    if (lender)
      return runOnLent(*lender, threads, parts, function, body);
    if (pool().tryRun(threads, parts, function, body))
      return;
  }
  FirstFailure failure{};
  for (int64_t part = 0; part < parts; ++part) {
    try {
      function(body, part);
    } catch (...) {
      failure.note(part);
    }
  }
  failure.rethrow();
}

LentThreads::LentThreads(const TaskRunner *runner) : before(std::exchange(lender, runner)) {}

LentThreads::~LentThreads() { lender = before; }

} // namespace kedge::rt
