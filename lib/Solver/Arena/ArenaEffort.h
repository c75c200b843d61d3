// What the packers may spend, in counted steps or in seconds of processor time.
#pragma once
#include "lib/Solver/ProcessorClock.h"
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kedge::solver {

class ArenaEffort {
public:
  /// `steps` 0: as many as the time allows; `seconds` 0: as long as the steps allow. One of them is given.
  ArenaEffort(int64_t steps, double seconds) : steps(steps), seconds(seconds), begin(ProcessorClock::now()) {}

  /// What each of `parts` may spend of what is left.
  ArenaEffort share(size_t parts) const {
    int64_t stepsLeft = std::max<int64_t>(1, (steps - spent) / static_cast<int64_t>(parts));
    double secondsLeft =
        std::max(1e-6, (seconds - ProcessorClock::secondsSince(begin)) / static_cast<double>(parts));
    return ArenaEffort(steps > 0 ? stepsLeft : 0, seconds > 0 ? secondsLeft : 0);
  }

  void spend(int64_t count) { spent += count; }
  int64_t used() const { return spent; }

  bool isSpent() {
    if (over || (steps > 0 && spent >= steps))
      return true;
    if (seconds > 0 && spent >= nextLook) {
      over = ProcessorClock::secondsSince(begin) >= seconds;
      nextLook = spent + 100000;
    }
    return over;
  }

private:
  int64_t steps, spent = 0, nextLook = 0;
  double seconds;
  ProcessorClock::time_point begin;
  bool over = false;
};

/// Pseudo-random numbers (xorshift), alike on every machine.
class ArenaRandom {
public:
  explicit ArenaRandom(uint64_t seed) : state(seed * 2 + 0x9e3779b97f4a7c15ull) {}
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  size_t below(size_t count) { return next() % count; }
  double unit() { return static_cast<double>(next() >> 11) / 9007199254740992.0; } ///< in [0, 1)

private:
  uint64_t state;
};

} // namespace kedge::solver
