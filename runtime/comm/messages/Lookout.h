// Tells that a rank of this machine is gone where the progress thread cannot: one of its calls of the transport
// does not return. So it is with Open MPI over TCP, once the connection to a process has ended.
#pragma once
#include "runtime/comm/messages/Watch.h"
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace kedge::rt::messages {

class Lookout {
public:
  /// `watch`: of the progress thread.
  Lookout(int64_t rank, Watch &watch) : rank(rank), watch(watch) {}
  ~Lookout() { end(); }
  Lookout(const Lookout &) = delete;
  Lookout &operator=(const Lookout &) = delete;

  /// Looks from now on after the processes of this machine that the watch has found.
  void begin();
  /// From the progress thread: it goes on.
  void pass() { passed.store(true, std::memory_order_relaxed); }
  /// The regular end, or that which the progress thread tells.
  void end();

private:
  void run();
  bool isGone(size_t other) const;
  int64_t countGone() const;
  bool isFirstLeft() const;
  void speak();

  const int64_t rank;
  Watch &watch;
  std::vector<int64_t> processes; ///< by rank; 0: cannot be checked
  std::atomic<bool> passed{false};
  std::mutex mutex;
  std::condition_variable wake;
  bool ending = false; ///< guarded by mutex
  std::thread thread;
};

} // namespace kedge::rt::messages
