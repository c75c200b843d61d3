// Times of launches on the GPU, for --profile: an event before each and one at the end.
#pragma once
#include "runtime/cuda/Gpu.h"

namespace kedge::rt::cuda {

class LaunchTimes {
public:
  explicit LaunchTimes(Gpu &gpu) : gpu(gpu) {}
  ~LaunchTimes();
  LaunchTimes(const LaunchTimes &) = delete;
  LaunchTimes &operator=(const LaunchTimes &) = delete;

  /// Call before launches `first`, `first + 1`... and once more after the last.
  void mark();
  /// Waits, and tells the timer of launches first... in order of the marks.
  void report(const Function &function, int first, LaunchTimer &timer);

private:
  Gpu &gpu;
  std::vector<CUevent> events;
  size_t used = 0;
  int64_t started = 0; ///< host's clock at the first mark, nanoseconds
};

} // namespace kedge::rt::cuda
