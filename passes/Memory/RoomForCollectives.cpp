#include "passes/Memory/LiveBytes.h"

using namespace mlir;

namespace kedge::memory {
namespace {

bool isCollective(const PlannedLaunch &launch) {
  auto library = dyn_cast<sched::LibraryOp>(launch.op);
  return library && library.getCollective();
}

/// The first launch behind `at` that reads something that the launch there writes; the number of launches
/// when none does.
int64_t firstReader(const FunctionPlan &plan, int64_t at) {
  const auto &written = plan.launches[at].writes;
  for (int64_t next = at + 1; next < static_cast<int64_t>(plan.launches.size()); ++next)
    if (llvm::any_of(plan.launches[next].reads,
                     [&](size_t buffer) { return llvm::is_contained(written, buffer); }))
      return next;
  return static_cast<int64_t>(plan.launches.size());
}

class RoomMaker {
public:
  explicit RoomMaker(FunctionPlan &plan) : plan(plan), live(plan) {}

  int64_t run() {
    int64_t before = -1; // the collective before
    for (int64_t at = 0; at < static_cast<int64_t>(plan.launches.size()); ++at)
      if (const PlannedLaunch &launch = plan.launches[at]; isCollective(launch)) {
        changed += live.hold(plan, launch, at, firstReader(plan, at) - 1);
        if (gathersStates(launch))
          freeEarly(launch, before + 1);
        before = at;
      }
    return changed;
  }

private:
  bool gathersStates(const PlannedLaunch &launch) const {
    return llvm::all_of(launch.reads, [&](size_t buffer) { return plan.buffers[buffer].isState(); }) &&
           llvm::none_of(launch.writes, [&](size_t buffer) { return plan.buffers[buffer].persistent(); });
  }

  /// All of what it fills, and its scratch, from the same launch on: it starts when the last of them is free.
  void freeEarly(const PlannedLaunch &launch, int64_t wanted) {
    SmallVector<size_t> buffers(launch.writes);
    if (launch.workspace >= 0)
      buffers.push_back(static_cast<size_t>(launch.workspace));
    int64_t bytes = 0;
    for (size_t index : buffers)
      bytes += plan.buffers[index].bytes;
    const int64_t at = plan.buffers[buffers.front()].first;
    const int64_t first = live.roomSince(at, wanted, bytes);
    live.add(first, at - 1, bytes);
    for (size_t index : buffers)
      plan.buffers[index].room = at - first;
    changed += first < at ? static_cast<int64_t>(buffers.size()) : 0;
  }

  FunctionPlan &plan;
  LiveBytes live;
  int64_t changed = 0;
};

} // namespace

int64_t makeRoomForCollectives(FunctionPlan &plan) {
  return llvm::any_of(plan.launches, isCollective) ? RoomMaker(plan).run() : 0;
}

} // namespace kedge::memory
