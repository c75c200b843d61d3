// Times of launches on the GPU for --profile: an event before each launch and one after the last.
#pragma once
#include "runtime/cuda/driver/Gpu.h"

namespace kedge::rt::cuda {

class LaunchTimes {
public:
  explicit LaunchTimes(Gpu &gpu) : gpu(gpu) {}
  ~LaunchTimes();
  LaunchTimes(const LaunchTimes &) = delete;
  LaunchTimes &operator=(const LaunchTimes &) = delete;

  /// Call before each of the launches `first`, `first + 1`..., and once after the last.
  void mark();
  /// Waits, then reports the times of the launches from `first` on to the timer, in the order of the marks.
  void report(const Function &function, int first, LaunchTimer &timer);

private:
  Gpu &gpu;
  std::vector<CUevent> events;
  size_t used = 0;
  int64_t started = 0; ///< host's clock at the first mark, nanoseconds
};

} // namespace kedge::rt::cuda
