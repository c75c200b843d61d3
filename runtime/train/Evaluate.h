// Evaluation and prediction: uses each row once, in order, in evaluation mode.
#pragma once
#include "runtime/train/Metrics.h"
#include "runtime/train/Step.h"
#include <functional>

namespace kedge::rt {

class EvaluationRounds;

class Evaluator {
public:
  /// Throws if the program cannot evaluate, or cannot ignore the missing rows of a last partial batch.
  Evaluator(Executor &executor, const Dataset &data, const RunScalars &scalars);

  /// The loss over all rows, as the mean over items; nothing if a signal
  /// came. Ranks take batches in turn, and all run the same number of times.
  std::optional<double> loss(const RunProgress &progress);

  /// The signal that ended the last evaluation, on any rank; 0: none.
  int stoppedBy() const { return signal; }
  /// Also measures these metrics from the next evaluation on. Throws if the program cannot.
  void measure(const std::vector<MetricKind> &kinds) { metrics = std::make_unique<Metrics>(executor, kinds); }
  /// The metrics of the last evaluation.
  const std::vector<MetricValue> &values() const { return measured; }

private:
  struct Sums {
    double loss = 0, items = 0;
  };
  const std::string &functionFor(const EvaluationRounds &rounds, int64_t round) const;
  void run(const std::string &evaluates, const RowRange &rows);
  void addRows(int64_t valid, Sums &sums) const;
  void addBatch(int64_t weight, Sums &sums) const;

  Executor &executor;
  const Program &program;
  const Dataset &data;
  const RunScalars &scalars;
  ScalarWriter writer;
  const ResultSlot *lossRows, *itemRows, *lossSum, *items;
  std::unique_ptr<Metrics> metrics;
  std::vector<MetricValue> measured;
  int signal = 0;
};

/// Assigns batches to ranks: in round i, rank r takes batch i W + r, where W is the number of ranks that have
/// rows of their own, and r the place among them.
class EvaluationRounds {
public:
  EvaluationRounds(const Executor &executor, const Dataset &data);
  int64_t count() const { return rounds; }
  /// The rows of a rank in a round; none if there are fewer batches left than ranks.
  RowRange rowsOf(int64_t round, int64_t rank) const;
  RowRange ownRows(int64_t round) const { return rowsOf(round, world.rank); }
  const World &ranks() const { return world; }

private:
  World world;
  int64_t batch, rows, rounds;
};

/// Running statistics differ between ranks during training; evaluation and exports use those of rank 0.
/// An error where evaluation would draw random numbers that may belong to training alone.
void checkEvaluation(const Program &program);

void takeBuffersOfFirstRank(Executor &executor);

/// Called with rows as they are predicted.
using RowSink = std::function<void(const char *rows, size_t bytes)>;

/// The type and shape of all rows of an output as prediction returns them: fp16 and bf16 as fp32. Throws if
/// it has no rows.
TensorDesc predictedRows(const Program &program, const std::string &name, int64_t rows);

/// Passes the rows of output `name` to `sink` (on rank 0), in order.
/// Returns the signal that ended it early, on any rank; otherwise 0.
int predictRows(Executor &executor, const Dataset &data, const RunScalars &scalars,
                const RunProgress &progress, const std::string &name, const RowSink &sink);

/// Writes all rows of output `name` to FILE.npy (fp16 and bf16 as fp32). Returns the
/// signal that ended it early, on any rank; then no file is written. Otherwise 0.
int predict(Executor &executor, const Dataset &data, const RunScalars &scalars, const RunProgress &progress,
            const std::string &name, const std::string &path);

/// Throws unless the program computes this output in evaluation mode.
void checkPredictable(const Program &program, const std::string &name);

} // namespace kedge::rt
