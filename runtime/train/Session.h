// A run of a compiled program, from options to exit code.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/comm/Launcher.h"
#include "runtime/exec/Memory.h"
#include "runtime/exec/Profile.h"
#include "runtime/io/FileLock.h"
#include "runtime/program/Options.h"
#include "runtime/train/Best.h"
#include "runtime/train/Evaluate.h"
#include "runtime/train/Gradients.h"
#include "runtime/train/Log.h"
#include "runtime/train/Weights.h"
#include <memory>

namespace kedge::rt {

class Session {
public:
  /// `ranks`: null in a world of one.
  Session(const ProgramImage &image, const Program &program, const Options &options, const Launched &launched,
          Communicator *ranks);
  /// Exit code: 0, or 128 + the signal that ended the run.
  int run();

private:
  void checkOptions();
  void openData();
  void resume();
  void makeExecutor();
  void setStates();
  void makeEvaluator();
  int train();
  LogLine runStep(StepRunner &runner);
  int threadCount() const;
  std::optional<double> evaluateIfDue();
  void checkpointIfDue(bool interrupted);
  /// Whether the run ends, since evaluations no longer get better.
  bool keepIfBest(const LogLine &line);
  std::string describeRun() const;
  void noteStop() const;
  std::vector<std::string> exportFiles() const;
  bool exportsWhenStopped() const;
  void exportStopped();
  void exportAll();
  void saveBefore(const StepNotBegun &reason);
  void finish();
  void printExportNotes() const;

  const ProgramImage &image;
  const Program &program;
  const Options &options;
  const Launched launched;
  const World world;
  Communicator *ranks;
  MemoryMeter meter;
  RunScalars scalars;
  Progress progress;
  std::optional<Checkpoint> checkpoint;
  CheckpointRun checkpoints; ///< of this run
  std::unique_ptr<Dataset> data, evalData;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Originals> originals;
  std::unique_ptr<LossScaler> scaler;
  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<GradientTools> gradients;
  std::unique_ptr<Profile> profile;
  std::unique_ptr<Log> log;
  std::unique_ptr<FileLock> folderLock, logLock; ///< held by rank 0
  int64_t stepsRun = 0; ///< by this process
  int64_t savedStep = -1; ///< of the newest checkpoint
  int signal = 0;       ///< that any rank has caught
  bool warnedEmpty = false;
};

} // namespace kedge::rt
