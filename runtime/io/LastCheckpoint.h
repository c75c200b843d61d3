// What the messages of ranks that end say of this process' checkpoints.
#pragma once
#include <atomic>

namespace kedge::rt {

/// Whether a checkpoint of the run is on disk, whole: written by this process, or read by it at the start.
inline std::atomic<bool> hasCheckpoint{false};

inline const char *checkpointWords() {
  return hasCheckpoint.load(std::memory_order_relaxed) ? "the last checkpoint is whole"
                                                       : "there is no checkpoint yet";
}

} // namespace kedge::rt
