// Time that this thread has had on a processor: what else the machine does takes nothing from a time limit.
#pragma once
#include <chrono>
#include <ctime>

namespace kedge::solver {

struct ProcessorClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ProcessorClock>;
  static constexpr bool is_steady = true;

  static time_point now() {
    timespec passed{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &passed);
    return time_point(std::chrono::seconds(passed.tv_sec) + std::chrono::nanoseconds(passed.tv_nsec));
  }
  static double secondsSince(time_point begin) {
    return std::chrono::duration<double>(now() - begin).count();
  }
};

} // namespace kedge::solver
