// How many bytes of the device are live, and where more may be.
#pragma once
#include "passes/Memory/FunctionPlan.h"
#include <numeric>

namespace kedge::memory {

/// Transient bytes of the device that are live at each launch.
class LiveBytes {
public:
  explicit LiveBytes(const FunctionPlan &plan) : load(plan.launches.size() + 3) {
    // First what changes with each launch: buffers may live through all of them.
    for (const PlannedBuffer &buffer : plan.buffers)
      if (isTransient(buffer) && buffer.first <= buffer.last) {
        load[buffer.first + 1] += buffer.bytes;
        load[buffer.last + 2] -= buffer.bytes;
      }
    std::partial_sum(load.begin(), load.end(), load.begin());
    load.pop_back();
    most = *std::max_element(load.begin(), load.end());
  }

  static bool isTransient(const PlannedBuffer &buffer) { return !buffer.persistent() && !buffer.host; }

  /// A buffer's last use is at `last`. The last launch up to `wanted` until which it can stay live.
  int64_t roomUntil(int64_t last, int64_t wanted, int64_t bytes) const {
    while (last < wanted && load[last + 2] + bytes <= most)
      ++last;
    return last;
  }

  /// A buffer's first use is at `first`. The first launch from `wanted` on from which its bytes can be kept
  /// free.
  int64_t roomSince(int64_t first, int64_t wanted, int64_t bytes) const {
    while (first > wanted && load[first] + bytes <= most)
      --first;
    return first;
  }

  void add(int64_t first, int64_t last, int64_t bytes) {
    for (int64_t at = first; at <= last; ++at)
      load[at + 1] += bytes;
  }

  /// What the launch reads for the last time, and its scratch, stays live up to `wanted` where there is room.
  /// Returns how many buffers do.
  int64_t hold(FunctionPlan &plan, const PlannedLaunch &launch, int64_t at, int64_t wanted) {
    llvm::SmallVector<size_t> buffers(launch.reads);
    if (launch.workspace >= 0)
      buffers.push_back(static_cast<size_t>(launch.workspace));
    int64_t held = 0;
    for (size_t index : buffers) {
      PlannedBuffer &buffer = plan.buffers[index];
      if (!isTransient(buffer) || buffer.last != at)
        continue;
      const int64_t last = roomUntil(at, wanted, buffer.bytes);
      add(at + 1, last, buffer.bytes);
      held += last > at;
      buffer.last = last;
    }
    return held;
  }

private:
  std::vector<int64_t> load; ///< by launch, from -1 on
  int64_t most = 0;
};

} // namespace kedge::memory
