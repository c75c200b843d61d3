// One optimizer step: batches, scalars, functions, loss.
#pragma once
#include "runtime/data/Dataset.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Schedule.h"

namespace kedge::rt {

/// The step's first rows cannot be read: nothing of the step has run yet.
struct StepNotBegun : Error {
  using Error::Error;
};

/// The loss or the gradients of a step of a world of one are not finite, and that ends the run.
struct NotFinite : Error {
  using Error::Error;
};

struct StepResult {
  double loss = 0; ///< contract, section 2; NaN when the program has none
  double items = 0; ///< of all ranks
  std::optional<double> gradNorm; ///< before clipping
  bool skipped = false;           ///< loss or gradients are not finite, and no update was made
  int signal = 0;                 ///< that any rank had caught when the ranks agreed on the loss
};

/// What watches a step beside the loss: dumped and injected gradients.
class GradientWatch {
public:
  virtual ~GradientWatch() = default;
  /// After `launch` (-1: before the first) of a function that has gradients. `items`: of the step so far.
  virtual void visit(const Function &function, int launch, int64_t step, double items) = 0;
  virtual bool wants(int64_t step) const = 0;
};

/// What becomes of a step whose loss or gradients are not finite.
enum class NonFiniteStep : uint8_t {
  Ends,  ///< the run: an error names the first such value
  Skips, ///< its update; the program can leave it out (canSkipUpdates)
  Passes ///< the program sees to it: loss scaling
};

/// Whether a program can leave an update out when it knows all gradients.
bool canSkipUpdates(const Program &program);

class StepRunner {
public:
  StepRunner(Executor &executor, const Dataset &data, const RunScalars &scalars, const World &world,
             NonFiniteStep whenNonFinite);

  void watch(GradientWatch *gradientWatch) { watcher = gradientWatch; }

  /// Throws rt::Error on a loss or gradients that are not finite when that ends the run, with the step and the first
  /// such value; labels and tokens out of range throw as well. State is then not to be saved.
  StepResult run(const Progress &progress);

private:
  struct Sums {
    double loss = 0, items = 0;
    int signal = 0;
    bool finite = true;
  };
  void runMicro(const Progress &progress, int64_t micro, Sums &sums);
  void fill(const Progress &progress, int64_t micro);
  void readAhead(const Progress &progress, int64_t micro);
  void runUpdate(const Progress &progress, Sums &sums);
  [[noreturn]] void explainLoss(const Progress &progress, int64_t micro, double lossSum);
  [[noreturn]] void explainGradients(const Progress &progress, double norm);
  NonFiniteGradients findAgain(const Progress &progress);
  [[noreturn]] void failWith(const std::string &head, const std::optional<NonFinite> &found, const std::string &nothing);
  void nameData(std::optional<NonFinite> &found, RowRange rows);
  std::string remedy() const;
  double lossOf(const Sums &sums) const;
  StepPoint pointOf(const Progress &progress, int64_t micro) const;
  RowRange rowsOf(const Progress &progress, int64_t micro) const;

  Executor &executor;
  const Program &program;
  const Dataset &data;
  const RunScalars &scalars;
  const World world;
  bool foundInData = false; ///< what is not finite came from a file
  ScalarWriter writer;
  NonFiniteStep whenNonFinite;
  GradientWatch *watcher = nullptr;
  std::string forward; ///< "step" or "micro"
  const ResultSlot *loss, *items, *gradNorm;
  std::optional<int64_t> stagedRow; ///< first row of the batch that was read ahead
};

/// An element of a result.
double readResult(const Executor &executor, const ResultSlot &slot, int64_t element = 0);

} // namespace kedge::rt
