// Checkpoints: folders step-N with safetensors and a manifest, written under a temporary name, synced,
// renamed.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/exec/Executor.h"
#include "runtime/train/LossScaler.h"
#include "runtime/train/Schedule.h"
#include "runtime/train/checkpoint/Best.h"
#include "runtime/train/report/Log.h"
#include "runtime/train/weights/StateValues.h"
#include <set>

namespace kedge::rt {

/// How far a run is.
struct RunProgress {
  int64_t step = 0;                   ///< number of completed steps
  int64_t optimizerSteps = 0;         ///< number of updates
  int64_t samples = 0;                ///< rows used by completed steps, over all ranks
  BestSoFar best;                     ///< the best of the evaluations so far
  std::optional<LogLine> unevaluated; ///< of the last step, when a signal ended its evaluation
  int64_t sortedRows = 0; ///< of how many rows --shuffle makes those of a batch about as long; 0: it does not
};

/// States that each rank wrote a part of: where the elements of the whole tensor are.
struct PartLayout {
  Shard shard;           ///< of the whole tensor, with the order of axes of the parts
  std::vector<int> perm; ///< part axes = transpose(tensor in the exported file, perm)
};
struct CheckpointParts {
  Mesh mesh; ///< of the ranks that wrote
  /// By the name of the file that would contain the whole tensor, then by the tensor's name.
  std::map<std::string, std::map<std::string, PartLayout>> tensors;
};

struct Checkpoint {
  std::string folder;
  std::string run; ///< the same in all checkpoints of a run; empty in checkpoints of older programs
  RunProgress progress;
  std::string optimizer;
  ScalarOptions scalars;
  std::vector<FrozenTensor> frozen;
  std::optional<LossScale> lossScale; ///< set if the run scaled its loss
  CheckpointParts parts;
};

/// Data that all checkpoints of a run share.
struct CheckpointRun {
  World world;
  std::vector<FrozenTensor> frozen;
  std::string id;
  std::set<int64_t> whole; ///< steps whose folders in --checkpoint-dir this process has verified file by file
};

/// An identifier for a new run.
std::string newRunId();

/// Writes DIR/step-N, verifies it on disk, and removes older complete checkpoints of this run so that `keep`
/// remain. On failure it throws and leaves nothing visible. Each rank writes its parts, rank 0 everything
/// else.
void writeCheckpoint(const std::string &dir, const Executor &executor, const RunProgress &progress,
                     const RunScalars &scalars, CheckpointRun &run, int64_t keep);

/// Writes DIR/best, replacing an older one.
void writeBestCheckpoint(const std::string &dir, const Executor &executor, const RunProgress &progress,
                         const RunScalars &scalars, const CheckpointRun &run);

/// Reads DIR/step-N; throws rt::RuntimeError with the reason if it is not
/// a checkpoint. `files`: also verify every byte of its files.
Checkpoint readCheckpoint(const std::string &folder, bool files);

/// Called before a run continues from `step`: moves later checkpoints in `dir` aside, so that no run
/// continues from them.
void setAsideLater(const std::string &dir, int64_t step);

/// The newest complete checkpoint in `dir`, or `dir` itself if it is one. Rank 0 searches for all. Throws if
/// there is none.
Checkpoint newestCheckpoint(const std::string &dir, Communicator *ranks = nullptr);

/// Whether `dir` contains at least one folder step-N.
bool holdsCheckpoints(const std::string &dir);

/// Removes unfinished files of a killed process.
void removeLeftovers(const std::string &dir);

/// Sets all saved states. Throws rt::RuntimeError, which names the difference, if the checkpoint is from
/// another model or optimizer or was written with other frozen tensors. Some states may then be set already.
void loadCheckpoint(const Checkpoint &checkpoint, const std::vector<FrozenTensor> &frozen,
                    Executor &executor);

/// Writes parameters, frozen tensors and buffers with their names and layout in the exported file.
void exportSafetensors(const std::string &path, const Executor &executor, std::optional<DType> type = {});

} // namespace kedge::rt
