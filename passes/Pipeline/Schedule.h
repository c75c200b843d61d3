// In which order the stages of a pipeline run the parts of micro-batches, and when; without MLIR.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::pipeline {

/// Forward or backward of one micro-batch on one stage.
struct Slot {
  bool backward = false;
  int64_t stage = 0, micro = 0, begin = 0, end = 0; ///< time in units of a forward
};

/// The slots of all stages by their begin, each after all that it waits for. `schedule` is "gpipe" or "1f1b".
std::vector<Slot> slotsOf(const std::string &schedule, int64_t stages, int64_t microBatches);
bool isSchedule(const std::string &name);

} // namespace kedge::pipeline
