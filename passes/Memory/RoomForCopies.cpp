#include "passes/Memory/LiveBytes.h"

using namespace mlir;

namespace kedge::memory {
namespace {

template <typename CopyOp> bool isCopy(const PlannedLaunch &launch, CopiesAside which) {
  auto copy = dyn_cast<CopyOp>(launch.op);
  return copy && (which == CopiesAside::All || copy.getDisk());
}

/// Copies of one direction, in order.
class Copies {
public:
  Copies(const FunctionPlan &plan, function_ref<bool(const PlannedLaunch &)> isOne) {
    for (auto [at, launch] : llvm::enumerate(plan.launches))
      if (isOne(launch))
        all.push_back({static_cast<int64_t>(at), plan.buffers[launch.writes.front()].bytes});
  }

  struct Copy {
    int64_t at, bytes;
  };
  ArrayRef<Copy> list() const { return all; }

  /// The launch behind which at most `bytes` of copies, those up to number `which`, are not begun.
  int64_t since(size_t which, int64_t bytes) const {
    size_t first = which;
    for (int64_t ahead = all[which].bytes; first > 0 && ahead + all[first - 1].bytes <= bytes; --first)
      ahead += all[first - 1].bytes;
    return first == 0 ? 0 : all[first - 1].at + 1;
  }
  /// The launch before which at most `bytes` of copies, number `which` and those behind, have begun.
  int64_t until(size_t which, int64_t bytes, int64_t end) const {
    size_t last = which;
    for (int64_t behind = all[which].bytes; last + 1 < all.size() && behind + all[last + 1].bytes <= bytes;
         ++last)
      behind += all[last + 1].bytes;
    return last + 1 == all.size() ? end : all[last + 1].at - 1;
  }

private:
  SmallVector<Copy> all;
};

class CopyRoom {
public:
  CopyRoom(FunctionPlan &plan, CopiesAside which, int64_t bytes)
      : plan(plan), bytes(bytes), live(plan),
        fetches(plan, [&](const PlannedLaunch &launch) { return isCopy<sched::FetchOp>(launch, which); }),
        offloads(plan, [&](const PlannedLaunch &launch) { return isCopy<sched::OffloadOp>(launch, which); }) {
  }

  /// In the order of the list, so that neither direction takes all the room.
  int64_t run() {
    const ArrayRef<Copies::Copy> in = fetches.list(), out = offloads.list();
    for (size_t read = 0, write = 0; read < in.size() || write < out.size();)
      if (write == out.size() || (read < in.size() && in[read].at < out[write].at))
        freeEarly(read++);
      else
        holdLonger(write++);
    return changed;
  }

private:
  PlannedBuffer &transient(ArrayRef<size_t> buffers) { return plan.buffers[buffers.front()]; }

  void holdLonger(size_t which) {
    const int64_t at = offloads.list()[which].at;
    PlannedBuffer &source = transient(plan.launches[at].reads);
    if (!LiveBytes::isTransient(source) || source.last != at)
      return;
    const int64_t end = static_cast<int64_t>(plan.launches.size()) - 1;
    source.last = live.roomUntil(at, offloads.until(which, bytes, end), source.bytes);
    live.add(at + 1, source.last, source.bytes);
    changed += source.last > at;
  }

  void freeEarly(size_t which) {
    const int64_t at = fetches.list()[which].at;
    PlannedBuffer &filled = transient(plan.launches[at].writes);
    if (!LiveBytes::isTransient(filled) || filled.first != at)
      return;
    turn = live.roomSince(at, std::max(turn, fetches.since(which, bytes)), filled.bytes);
    live.add(turn, at - 1, filled.bytes);
    filled.room = at - turn;
    changed += turn < at;
  }

  FunctionPlan &plan;
  const int64_t bytes;
  LiveBytes live;
  const Copies fetches, offloads;
  int64_t turn = 0; ///< of the fetch before: they keep their order
  int64_t changed = 0;
};

} // namespace

int64_t makeRoomForCopies(FunctionPlan &plan, CopiesAside which, int64_t bytes) {
  return CopyRoom(plan, which, bytes).run();
}

} // namespace kedge::memory
