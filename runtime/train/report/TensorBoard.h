// --tensorboard: the numbers of a run, its hyperparameters and its memory plan as TensorBoard reads them.
#pragma once
#include "runtime/program/Program.h"
#include "runtime/train/Schedule.h"
#include "runtime/train/report/Log.h"
#include <string>

namespace kedge::rt {

/// One event file in a folder (TensorFlow's record file with tensorflow.Event messages). A run that resumes
/// adds a file, which says from which step on it takes the place of earlier ones.
class TensorBoard {
public:
  /// Makes the folder where it is missing. `resumeAt`: the first step that this run does anew. Throws
  /// rt::RuntimeError if the file cannot be made.
  TensorBoard(const std::string &folder, std::optional<int64_t> resumeAt);
  ~TensorBoard();
  TensorBoard(const TensorBoard &) = delete;
  TensorBoard &operator=(const TensorBoard &) = delete;

  /// What the HPARAMS and TEXT pages show: options of the run, the plan of the program.
  void describe(const Program &program, const RunScalars &scalars);
  /// Scalars by the names that they have in the log, at the number of completed steps. Throws
  /// rt::RuntimeError if they cannot be written.
  void write(const LogLine &line);

private:
  void record(const std::string &event);

  std::string name;
  int descriptor = -1;
};

} // namespace kedge::rt
