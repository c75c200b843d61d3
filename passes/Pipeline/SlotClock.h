// When slots of a pipeline can begin, as they are run one by one.
#pragma once
#include "passes/Pipeline/Schedule.h"

namespace kedge::pipeline {

class SlotClock {
public:
  /// `apart`, by rank: gradients of weights have slots of their own.
  SlotClock(const PipelineWork &work, const std::vector<bool> &apart);

  /// The rank is free then, and all that the slot reads is there; none: what it reads has not run.
  std::optional<double> beginOf(const Slot &slot) const;
  /// As early as it can.
  void run(Slot slot);
  /// By their begin.
  std::vector<Slot> takeSlots();

private:
  double timeOf(const Slot &slot) const;
  std::optional<double> endOf(Part part, int64_t stage, int64_t micro) const;
  size_t placeOf(Part part, int64_t stage, int64_t micro) const;
  size_t rankOf(const Slot &slot) const { return static_cast<size_t>(slot.stage % work.ranks); }

  const PipelineWork &work;
  std::vector<bool> apart;
  std::vector<double> free; ///< by rank
  std::vector<double> ends; ///< of what has run; -1: not yet
  std::vector<Slot> slots;
};

} // namespace kedge::pipeline
