// Runs a compiled program with its options, and returns the exit code.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/comm/Launcher.h"
#include "runtime/exec/Memory.h"
#include "runtime/exec/Profile.h"
#include "runtime/io/FileLock.h"
#include "runtime/io/ReadFiles.h"
#include "runtime/program/Options.h"
#include "runtime/train/Evaluate.h"
#include "runtime/train/checkpoint/Best.h"
#include "runtime/train/output/Gradients.h"
#include "runtime/train/output/Sample.h"
#include "runtime/train/report/Log.h"
#include "runtime/train/report/TensorBoard.h"
#include "runtime/train/weights/Weights.h"
#include <memory>

namespace kedge::rt {

class Session {
public:
  /// `ranks`: null if there is one rank.
  Session(const ProgramImage &image, const Program &program, const Options &options, const Launched &launched,
          Communicator *ranks);
  /// Returns 0, or 128 + the number of the signal that ended the run.
  int run();

private:
  void checkOptions();
  int64_t stepsOfEpochs();
  void warnOf(const std::string &text) const;
  void openData();
  void readLengths();
  void resume();
  void prepare(const ReadFiles *read);
  int endBeforeFirstStep(int caught);
  void makeExecutor();
  void setStates();
  void makeEvaluator();
  int train();
  int findRate();
  int onlyEvaluate(std::optional<double> known);
  /// Returns whether to stop, as keepIfBest does; `loss`: that of the evaluation.
  bool makeUpEvaluation(std::optional<double> &loss);
  LogLine runStep(StepRunner &runner);
  void openLogs();
  void writeLogs(const LogLine &line);
  int threadCount() const;
  std::optional<double> evaluateIfDue();
  void checkpointIfDue(bool interrupted);
  /// Returns whether to stop, because evaluations no longer improve.
  bool keepIfBest(const LogLine &line);
  std::string describeRun() const;
  void noteStop() const;
  std::vector<std::string> exportFiles() const;
  bool exportsWhenStopped() const;
  void exportStopped();
  std::optional<double> evaluate();
  void exportAll();
  void writeExports();
  void writeReports();
  void printSample();
  void saveBefore(const StepNotBegun &reason);
  void finish();
  void printExportNotes() const;

  const ProgramImage &image;
  const Program &program;
  const Options &options;
  const Launched launched;
  const World world;
  const World rows; ///< the place among ranks that train on different rows
  Communicator *ranks;
  MemoryMeter meter;
  RunScalars scalars;
  RunProgress progress;
  std::optional<Checkpoint> checkpoint;
  CheckpointRun checkpoints; ///< of this run
  std::unique_ptr<Dataset> data, evalData;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Originals> originals;
  std::unique_ptr<LossScaler> scaler;
  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<GradientTools> gradients;
  std::unique_ptr<Profile> profile;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Log> log;
  std::unique_ptr<TensorBoard> tensorboard;
  std::unique_ptr<FileLock> folderLock, logLock; ///< on rank 0 only
  int64_t stepsRun = 0;                          ///< by this process
  int64_t savedStep = -1;                        ///< step of the newest checkpoint
  int signal = 0;                                ///< signal that some rank received
  bool warnedEmpty = false;
};

} // namespace kedge::rt
