// Names within a folder of checkpoints.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::rt {

inline constexpr int kCheckpointFormat = 2; ///< 1 held the values of frozen tensors, too
inline constexpr int kPartedFormat = 3;     ///< some tensors are in parts, a file a rank
inline constexpr const char *kManifest = "manifest.json";
inline constexpr const char *kTemporary = ".tmp-step-";

/// Steps that have a folder, newest first.
std::vector<int64_t> stepsIn(const std::string &dir);
std::string folderOfStep(const std::string &dir, int64_t step);

} // namespace kedge::rt
