// A model that learns inside another program: the implementation of a kedge_session.
#pragma once
#include "kedge/session.h"
#include "runtime/exec/LentThreads.h"
#include "runtime/io/FileLock.h"
#include "runtime/library/SessionGradients.h"
#include "runtime/program/Options.h"
#include "runtime/train/CompletedStep.h"
#include "runtime/train/checkpoint/CheckpointTensors.h"
#include "runtime/train/weights/Weights.h"
#include <memory>

namespace kedge::rt {

/// An earlier call failed half-way.
struct BrokenSession : RuntimeError {
  using RuntimeError::RuntimeError;
};

/// Flags of the compiled program with their values.
using OptionTexts = std::vector<std::pair<std::string, std::optional<std::string>>>;

class LearningSession {
public:
  /// `lent`: threads of the caller. Without a function, the library uses its own threads.
  LearningSession(const OptionTexts &options, const TaskRunner &lent);

  /// Where loops of this session run; null: on the library's own threads.
  const TaskRunner *threads() const { return lent.run ? &lent : nullptr; }

  kedge_tensor inputAt(size_t index) const;
  kedge_tensor outputAt(size_t index) const;
  kedge_tensor stateAt(size_t index) const;
  kedge_tensor parameterAt(size_t index) const;

  /// For the next call that reads inputs; with `keep` a copy, until it is replaced.
  void setInput(const std::string &name, const void *data, int64_t rows, bool keep);
  kedge_step_result step();
  /// The two parts of a step.
  kedge_step_result computeGradients();
  kedge_step_result applyGradients(const float *values, size_t bytes);
  double evaluate();
  void predict(const std::string &output, void *values, size_t bytes);
  void getState(const std::string &name, void *values, size_t bytes) const;
  void setState(const std::string &name, const void *values, size_t bytes);
  /// All parameters as one array.
  void getParameters(float *values, size_t bytes) const;
  void setParameters(const float *values, size_t bytes);
  void keepGradients(bool keep) { gradients.keep(keep); }
  void getGradient(const std::string &name, float *values, size_t bytes) const;
  void getGradients(float *values, size_t bytes) const;
  int64_t stepsDone() const { return progress.step; }
  void setStepsDone(int64_t steps);
  void setOption(const std::string &name, const std::string &value);
  void checkpoint(const std::string &dir);
  void resume(const std::string &dir);
  void exportOnnx(const std::string &path);

private:
  /// The caller's rows are the session's until a call that reads them returns, whatever comes of it.
  struct InputsOfCall {
    LearningSession &session;
    ~InputsOfCall();
  };
  struct Lent {
    const void *data = nullptr;
    int64_t rows = 0;
    std::shared_ptr<const std::vector<char>> kept; ///< where `data` is the session's own
  };
  struct Described {
    std::string name;
    kedge_type type;
    std::vector<int64_t> shape;
    const State *state = nullptr; ///< of states
  };
  void parse(const OptionTexts &texts);
  void describe();
  void describeState(const NamedState &entry);
  Dataset takeInputs(bool labelsNeeded);
  void checkIntegers(const Dataset &data, RowRange rows) const;
  void requireWhole() const;
  kedge_step_result beginStep() const;
  Dataset rowsOfStep();
  kedge_step_result ended(kedge_step_result result, const StepResult &done, bool skipped) const;
  const StepParts &partsOfStep();
  void checkGiven(const float *values) const;
  const State &stateNamed(const std::string &name, size_t bytes) const;
  void copyState(const State &state, DType type, void *values) const;
  void replaceState(const State &state, DType type, const void *values);
  void statesChanged();
  void lockFolder(const std::string &dir);
  void prepareFolder(const std::string &dir);

  ProgramImage image;
  Program program;
  Options options;
  TaskRunner lent;
  ScalarOptions saved; ///< of the checkpoint that was resumed
  RunScalars scalars;
  RunProgress progress;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Originals> originals;
  std::unique_ptr<LossScaler> scaler;
  std::map<std::string, Lent> inputs; ///< given for the next call that reads them, or kept
  std::vector<Described> describedInputs, describedOutputs, describedStates, describedParameters;
  SessionGradients gradients;
  std::optional<StepParts> parts; ///< once they were asked for
  CheckpointRun checkpoints;
  bool knowsFrozen = false;             ///< whether checkpoints.frozen is up to date
  std::unique_ptr<FileLock> folderLock; ///< while this session writes there
  std::string lockedFolder;
  std::string folder;     ///< of the checkpoints that this session wrote or resumed from
  int64_t resumedAt = -1; ///< step given by kedge_resume, until later checkpoints there are set aside
  int64_t savedStep =
      -1; ///< the step of the newest checkpoint in `folder`, while the states have not changed since
  bool broken = false;
};

} // namespace kedge::rt
