// Names in a folder of checkpoints.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::rt {

struct CheckpointRun;

inline constexpr int kUnsealedFormat =
    2; ///< without a checksum; format 1 also held the values of frozen tensors
inline constexpr int kUnsealedPartedFormat = 3; ///< the same, some tensors in parts
inline constexpr int kCheckpointFormat = 4;     ///< no single bit makes an older one of it
inline constexpr int kPartedFormat = 5;         ///< some tensors are in parts, one file for each rank
inline constexpr int kBoxedFormat = 6;          ///< some parts are boxes: cut along dimensions
inline constexpr int kStagedFormat = 7;         ///< some tensors are those of stages of a pipeline
inline constexpr const char *kManifest = "manifest.json";
inline constexpr const char *kTemporary = ".tmp-step-";
inline constexpr const char *kBest = "best";
inline constexpr const char *kSetAside = "set-aside-step-";

/// The steps for which there is a folder, newest first.
std::vector<int64_t> stepsIn(const std::string &dir);
std::string folderOfStep(const std::string &dir, int64_t step);

/// Removes complete checkpoints of the run before `step`, until `keep` remain, that of `step`
/// included. Damaged checkpoints and those of other runs are neither counted nor removed.
void removeOlder(const std::string &dir, int64_t step, CheckpointRun &run, int64_t keep);

/// Renames DIR/step-N so that no run finds it, and prints why. Throws rt::RuntimeError if this fails.
void setAside(const std::string &dir, int64_t step, const std::string &why);

} // namespace kedge::rt
