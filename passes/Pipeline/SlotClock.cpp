#include "passes/Pipeline/SlotClock.h"
#include <algorithm>

namespace kedge::pipeline {

SlotClock::SlotClock(const PipelineWork &work, const std::vector<bool> &apart)
    : work(work), apart(apart), free(static_cast<size_t>(work.ranks), 0),
      ends(3 * work.stages.size() * static_cast<size_t>(work.microBatches), -1) {}

size_t SlotClock::placeOf(Part part, int64_t stage, int64_t micro) const {
  const size_t row = static_cast<size_t>(part) * work.stages.size() + static_cast<size_t>(stage);
  return row * static_cast<size_t>(work.microBatches) + static_cast<size_t>(micro);
}

std::optional<double> SlotClock::endOf(Part part, int64_t stage, int64_t micro) const {
  const double end = ends[placeOf(part, stage, micro)];
  return end < 0 ? std::nullopt : std::optional(end);
}

double SlotClock::timeOf(const Slot &slot) const {
  const StageWork &stage = work.stages[static_cast<size_t>(slot.stage)];
  switch (slot.part) {
  case Part::Forward:
    return stage.forward;
  case Part::Weights:
    return stage.weights;
  case Part::Backward:
    break;
  }
  return stage.backward + (apart[rankOf(slot)] ? 0 : stage.weights);
}

std::optional<double> SlotClock::beginOf(const Slot &slot) const {
  std::optional<double> ready = 0;
  const bool isLast = slot.stage + 1 == static_cast<int64_t>(work.stages.size());
  if (slot.part == Part::Weights)
    ready = endOf(Part::Backward, slot.stage, slot.micro);
  else if (slot.part == Part::Forward && slot.stage > 0)
    ready = endOf(Part::Forward, slot.stage - 1, slot.micro);
  else if (slot.part == Part::Backward)
    ready = isLast ? endOf(Part::Forward, slot.stage, slot.micro)
                   : endOf(Part::Backward, slot.stage + 1, slot.micro);
  if (ready)
    ready = std::max(*ready, free[rankOf(slot)]);
  return ready;
}

void SlotClock::run(Slot slot) {
  slot.begin = *beginOf(slot);
  slot.end = free[rankOf(slot)] = slot.begin + timeOf(slot);
  ends[placeOf(slot.part, slot.stage, slot.micro)] = slot.end;
  slots.push_back(slot);
}

std::vector<Slot> SlotClock::takeSlots() {
  std::stable_sort(slots.begin(), slots.end(),
                   [](const Slot &a, const Slot &b) { return a.begin < b.begin; });
  return std::move(slots);
}

} // namespace kedge::pipeline
