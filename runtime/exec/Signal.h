// How threads wait for each other: they poll for a limited time, then sleep in the kernel.
#pragma once
#include "runtime/platform/Threads.h"
#include <atomic>
#include <chrono>
#include <cstdint>

namespace kedge::rt {

/// Notified of every change that others may wait for. Polling covers the gaps between launches.
/// A thread that waits longer sleeps, so that a suspended thread can use its processor.
class Signal {
public:
  /// Call after a change, which must use memory order release or stronger.
  void post() {
    count_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0)
      platform::wakeAll(count_);
  }

  /// Returns once `ready()` is true; it may change only before a post(). It loads with memory order acquire
  /// or stronger.
  template <typename Ready> void await(Ready &&ready) {
    await(ready, [] {});
  }
  /// The same; beforeSleep() is called once, if polling was in vain.
  template <typename Ready, typename BeforeSleep> void await(Ready &&ready, BeforeSleep &&beforeSleep) {
    if (ready() || spin(ready))
      return;
    beforeSleep();
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
      const uint32_t seen = count_.load(std::memory_order_seq_cst);
      if (ready())
        break;
      platform::sleepWhile(count_, seen);
    }
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }

private:
  static constexpr std::chrono::microseconds kSpin{30};

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  template <typename Ready> static bool spin(Ready &ready) {
    const auto end = std::chrono::steady_clock::now() + kSpin;
    do
      for (int i = 0; i < 16; ++i) {
        if (ready())
          return true;
        pause();
      }
    while (std::chrono::steady_clock::now() < end);
    return false;
  }

  std::atomic<uint32_t> count_{0}, sleepers_{0};
};

} // namespace kedge::rt
