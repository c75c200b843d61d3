#include "passes/Pipeline/Schedule.h"
#include <algorithm>

namespace kedge::pipeline {
namespace {

/// What a backward takes of the time of a forward.
constexpr int64_t kBackwardTime = 2;

/// One stage's own order: some forwards ahead, then a backward after each, then the backwards that are left.
std::vector<Slot> ownOrder(int64_t stage, int64_t ahead, int64_t microBatches) {
  std::vector<Slot> order;
  ahead = std::min(ahead, microBatches);
  for (int64_t micro = 0; micro < ahead; ++micro)
    order.push_back({false, stage, micro});
  for (int64_t micro = 0; micro < microBatches; ++micro) {
    order.push_back({true, stage, micro});
    if (ahead + micro < microBatches)
      order.push_back({false, stage, ahead + micro});
  }
  return order;
}

/// Ends of what has run, by direction, stage and micro-batch; -1: not yet.
class Ends {
public:
  Ends(int64_t stages, int64_t microBatches)
      : stages(stages), microBatches(microBatches), ends(static_cast<size_t>(2 * stages * microBatches), -1) {
  }
  int64_t &of(bool backward, int64_t stage, int64_t micro) {
    return ends[static_cast<size_t>(((backward ? stages : 0) + stage) * microBatches + micro)];
  }
  /// When all that a slot reads is there; -1: not known yet.
  int64_t readyFor(const Slot &slot) {
    if (!slot.backward)
      return slot.stage == 0 ? 0 : of(false, slot.stage - 1, slot.micro);
    return slot.stage + 1 == stages ? of(false, slot.stage, slot.micro)
                                    : of(true, slot.stage + 1, slot.micro);
  }

private:
  int64_t stages, microBatches;
  std::vector<int64_t> ends;
};

} // namespace

bool isSchedule(const std::string &name) { return name == "gpipe" || name == "1f1b"; }

std::vector<Slot> slotsOf(const std::string &schedule, int64_t stages, int64_t microBatches) {
  std::vector<std::vector<Slot>> orders;
  for (int64_t stage = 0; stage < stages; ++stage)
    orders.push_back(ownOrder(stage, schedule == "gpipe" ? microBatches : stages - stage, microBatches));
  std::vector<int64_t> free(static_cast<size_t>(stages), 0);
  std::vector<size_t> next(static_cast<size_t>(stages), 0);
  Ends ends(stages, microBatches);
  std::vector<Slot> slots;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t stage = 0; stage < orders.size(); ++stage) {
      if (next[stage] == orders[stage].size())
        continue;
      Slot slot = orders[stage][next[stage]];
      const int64_t ready = ends.readyFor(slot);
      if (ready < 0)
        continue;
      slot.begin = std::max(ready, free[stage]);
      slot.end = free[stage] = slot.begin + (slot.backward ? kBackwardTime : 1);
      ends.of(slot.backward, slot.stage, slot.micro) = slot.end;
      slots.push_back(slot);
      ++next[stage];
      moved = true;
    }
  }
  std::stable_sort(slots.begin(), slots.end(),
                   [](const Slot &a, const Slot &b) { return a.begin < b.begin; });
  return slots;
}

} // namespace kedge::pipeline
