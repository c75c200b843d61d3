// Names within a folder of checkpoints.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::rt {

struct CheckpointRun;

inline constexpr int kCheckpointFormat = 2; ///< 1 held the values of frozen tensors, too
inline constexpr int kPartedFormat = 3;     ///< some tensors are in parts, a file a rank
inline constexpr const char *kManifest = "manifest.json";
inline constexpr const char *kTemporary = ".tmp-step-";
inline constexpr const char *kBest = "best";
inline constexpr const char *kSetAside = "set-aside-step-";

/// Steps that have a folder, newest first.
std::vector<int64_t> stepsIn(const std::string &dir);
std::string folderOfStep(const std::string &dir, int64_t step);

/// Removes whole checkpoints of the run before `step` until `keep` of them stand, that of `step` included. What is
/// damaged, or of another run, is neither counted nor removed.
void removeOlder(const std::string &dir, int64_t step, CheckpointRun &run, int64_t keep);

/// Moves DIR/step-N where no run looks for checkpoints, and says why. Throws rt::Error when it cannot.
void setAside(const std::string &dir, int64_t step, const std::string &why);

} // namespace kedge::rt
