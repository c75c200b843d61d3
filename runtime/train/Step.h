// One optimizer step: batches, scalars, functions, loss.
#pragma once
#include "runtime/data/Dataset.h"
#include "runtime/exec/StepParts.h"
#include "runtime/train/Schedule.h"
#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/report/Log.h"

namespace kedge::rt {

/// The first rows of the step cannot be read. Nothing of the step has run.
struct StepNotBegun : RuntimeError {
  using RuntimeError::RuntimeError;
};

/// The loss or the gradients of a step are not finite, with one rank, and this ends the run.
struct NotFinite : RuntimeError {
  using RuntimeError::RuntimeError;
};

/// Of each abi::StepMetric, then of each term of the loss.
constexpr size_t kMostMetrics = abi::kStepMetrics.size() + abi::kMostLosses;
using StepMetricSums = std::array<double, kMostMetrics>;
using StepMetricSlots = std::array<const ResultSlot *, kMostMetrics>;

struct StepResult {
  double loss = 0;     ///< mean over the step's items; NaN if the program has no loss
  double items = 0;    ///< over all ranks
  StepMetrics metrics; ///< means over the step's items
  LossTerms terms;     ///< the same
  std::shared_ptr<const std::vector<ExpertCounts>> experts; ///< until the next step; null: not counted
  std::optional<double> gradNorm;                           ///< the norm before clipping
  BatchLength length;                  ///< of all micro-batches; no rows in a program of one length
  bool skipped = false;                ///< loss or gradients were not finite, so nothing was updated
  std::optional<int64_t> lossOverflow; ///< the first micro-batch whose loss was not finite; all ranks agree
  int signal = 0;                      ///< signal that some rank had received when ranks agreed on the loss
};

/// Observes a step to dump or inject gradients.
class GradientWatch {
public:
  virtual ~GradientWatch() = default;
  /// Called after `launch` of a function with gradients (-1: before the first). `items`: those of the step so
  /// far.
  virtual void visit(const Function &function, int launch, int64_t step, double items) = 0;
  virtual bool wants(int64_t step) const = 0;
  /// Whether `visit` is called after every launch, of every function of a step.
  virtual bool seesEveryLaunch() const { return false; }
};

/// What happens in a step whose loss or gradients are not finite.
enum class NonFiniteStep : uint8_t {
  Ends,   ///< the run ends with an error that names the first such value
  Skips,  ///< the update is skipped; the program must support this (canSkipUpdates)
  Scales, ///< the program itself skips it: loss scaling; but not where the data are at fault
  Passes  ///< the same, whatever the data are
};

/// Whether a program can skip an update when it knows all gradients.
bool canSkipUpdates(const Program &program);

/// What completes an optimizer step.
class StepSource {
public:
  virtual ~StepSource() = default;
  virtual StepResult run(const RunProgress &progress) = 0;
  /// Throws rt::RuntimeError, with what is known of the first value that was not finite between `head` and
  /// `help`. States, the loss scale among them, must be those that the step found.
  [[noreturn]] virtual void explainOverflow(const RunProgress &progress, const StepResult &result,
                                            const std::string &head, const std::string &help) = 0;
};

class StepRunner : public StepSource {
public:
  StepRunner(Executor &executor, const Dataset &data, const RunScalars &scalars, const World &world,
             NonFiniteStep whenNonFinite);

  void watch(GradientWatch *gradientWatch) { watcher = gradientWatch; }
  /// Steps compute gradients, and leave all states but the model's buffers as they are.
  void leaveUpdatesOut(const StepParts &ofProgram) { parts = &ofProgram; }

  /// Throws rt::RuntimeError, with the step and the first such value, if loss or gradients are not finite and
  /// this ends the run. Also throws for labels and tokens out of range. States must not be saved afterwards.
  StepResult run(const RunProgress &progress) override;

  [[noreturn]] void explainOverflow(const RunProgress &progress, const StepResult &result,
                                    const std::string &head, const std::string &help) override;

private:
  struct Sums {
    std::optional<int64_t> lossOverflow;
    double loss = 0, items = 0;
    StepMetricSums metrics{};
    BatchLength length;
    int signal = 0;
    bool finite = true;
  };
  void runMicro(const RunProgress &progress, int64_t micro, Sums &sums);
  void fill(const RunProgress &progress, int64_t micro);
  BatchLength lengthOf(const RunProgress &progress, int64_t micro) const;
  void readAhead(const RunProgress &progress, int64_t micro);
  void runUpdate(const RunProgress &progress, Sums &sums);
  void refuseData(const RunProgress &progress, int64_t micro);
  bool isHandled() const {
    return whenNonFinite == NonFiniteStep::Scales || whenNonFinite == NonFiniteStep::Passes;
  }
  [[noreturn]] void explainLoss(const RunProgress &progress, int64_t micro, double lossSum);
  [[noreturn]] void explainGradients(const RunProgress &progress, double norm);
  NonFiniteGradients findAgain(const RunProgress &progress);
  bool runsAgain() const;
  std::optional<NonFinite> findInLoss(const RunProgress &progress, int64_t micro);
  std::optional<NonFinite> findInGradients(const RunProgress &progress, bool ofSquaresAlone);
  [[noreturn]] void failWith(const std::string &head, const std::optional<NonFinite> &found,
                             const std::string &nothing, const std::string &help);
  void nameData(std::optional<NonFinite> &found, RowRange rows);
  std::string remedy() const;
  double lossOf(const Sums &sums) const;
  void findMetrics();
  void findExperts();
  void addExperts(int64_t micro);
  void setMetrics(const Sums &sums, StepResult &result) const;
  StepPoint pointOf(const RunProgress &progress, int64_t micro) const;
  RowRange rowsOf(const RunProgress &progress, int64_t micro) const;

  Executor &executor;
  const Program &program;
  const Dataset &data;
  const RunScalars &scalars;
  const World world;        ///< the place among ranks that train on different rows
  bool foundInData = false; ///< the non-finite value came from a file
  ScalarWriter writer;
  NonFiniteStep whenNonFinite;
  GradientWatch *watcher = nullptr;
  const StepParts *parts = nullptr; ///< not null: updates are left out
  std::string forward;              ///< "step" or "micro"
  BatchLength length;               ///< of the latest micro-batch
  const ResultSlot *loss, *items, *gradNorm;
  StepMetricSlots metrics{};
  LossTerms terms; ///< their names
  std::shared_ptr<std::vector<ExpertCounts>> experts;
  std::vector<const ResultSlot *> expertSlots; ///< by layer
  std::optional<int64_t> stagedRow;            ///< first row of the batch that was already read
};

/// One element of a result.
double readResult(const Executor &executor, const ResultSlot &slot, int64_t element = 0);

} // namespace kedge::rt
