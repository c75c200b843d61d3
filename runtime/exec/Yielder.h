// How a thread that polls lets others compute.
#pragma once
#include <chrono>
#include <thread>

namespace kedge::rt {

/// Yields as long as nobody else wants the processor. The kernel gives a processor that was yielded to a
/// process that computes back after that one's whole slice, of milliseconds, but a thread that sleeps gets it
/// when it wakes.
class Yielder {
  using Clock = std::chrono::steady_clock;

public:
  static constexpr std::chrono::microseconds kNap{20};

  void yield() {
    const auto begin = Clock::now();
    if (begin < crowdedUntil)
      return std::this_thread::sleep_for(kNap);
    std::this_thread::yield();
    if (const auto end = Clock::now(); end - begin > kDisplaced)
      crowdedUntil = end + kCrowded;
  }

  /// Whether somebody had the processor lately.
  bool isCrowded() const { return Clock::now() < crowdedUntil; }

private:
  /// A yield of this length found a processor that another computes on, and none tries again for so long.
  static constexpr std::chrono::microseconds kDisplaced{1000};
  static constexpr std::chrono::milliseconds kCrowded{200};

  Clock::time_point crowdedUntil;
};

} // namespace kedge::rt
