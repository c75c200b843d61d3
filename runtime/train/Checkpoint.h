// Folders step-N of safetensors and a manifest: written beside, synced, renamed.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/train/Best.h"
#include "runtime/exec/Executor.h"
#include "runtime/train/LossScaler.h"
#include "runtime/train/Schedule.h"
#include "runtime/train/StateValues.h"
#include <set>

namespace kedge::rt {

/// Where a run stands.
struct Progress {
  int64_t step = 0;           ///< completed steps
  int64_t optimizerSteps = 0; ///< updates done
  int64_t samples = 0;        ///< rows consumed by completed steps, over all ranks
  BestSoFar best;             ///< of the evaluations so far
};

/// States that ranks wrote in parts: where elements of a tensor lie.
struct PartLayout {
  std::vector<int64_t> shape; ///< of the whole, in the order of axes that the parts have
  std::vector<int> perm;      ///< of the tensor in the exported file to that
};
struct CheckpointParts {
  int64_t ranks = 0;
  /// By the file that would hold the tensor as a whole, and the tensor's name.
  std::map<std::string, std::map<std::string, PartLayout>> tensors;
};

struct Checkpoint {
  std::string folder;
  std::string run; ///< alike in all checkpoints of a run; empty in those of older programs
  Progress progress;
  std::string optimizer;
  ScalarOptions scalars;
  std::vector<FrozenTensor> frozen;
  std::optional<LossScale> lossScale; ///< of a run that scaled its loss
  CheckpointParts parts;
};

/// What is alike in all checkpoints of a run.
struct CheckpointRun {
  World world;
  std::vector<FrozenTensor> frozen;
  std::string id;
  std::set<int64_t> whole; ///< steps whose folders in --checkpoint-dir this process has checked, file by file
};

/// The name of a run that begins now.
std::string newRunId();

/// Writes DIR/step-N, checks what the disk holds, and removes older whole ones of this run beyond `keep`. On any failure
/// throws and leaves nothing visible. Ranks write their parts, rank 0 the rest.
void writeCheckpoint(const std::string &dir, const Executor &executor, const Progress &progress,
                     const RunScalars &scalars, CheckpointRun &run, int64_t keep);

/// Writes DIR/best in place of the one that stands there.
void writeBestCheckpoint(const std::string &dir, const Executor &executor, const Progress &progress,
                         const RunScalars &scalars, const CheckpointRun &run);

/// Reads DIR/step-N; throws rt::Error with the reason where it is no checkpoint. `files`: every byte of its files is
/// looked at, too.
Checkpoint readCheckpoint(const std::string &folder, bool files);

/// Before a run goes on from `step`: later checkpoints in `dir` are of another course, and are never to be taken.
void setAsideLater(const std::string &dir, int64_t step);

/// The newest whole checkpoint in `dir`, or `dir` itself when it is one; rank 0 looks for all. Throws when there is none.
Checkpoint newestCheckpoint(const std::string &dir, Communicator *ranks = nullptr);

/// True when `dir` holds at least one step-N folder.
bool holdsCheckpoints(const std::string &dir);

/// Removes what a killed process left half-written.
void removeLeftovers(const std::string &dir);

/// Sets every saved state. Throws rt::Error that names what differs when the checkpoint is of another model
/// or optimizer, or was written with other frozen tensors; states are then partly set.
void loadCheckpoint(const Checkpoint &checkpoint, const std::vector<FrozenTensor> &frozen, Executor &executor);

/// Parameters, frozen tensors and buffers under their names in the exported file, in its layout.
void exportSafetensors(const std::string &path, const Executor &executor, std::optional<DType> type = {});

} // namespace kedge::rt
