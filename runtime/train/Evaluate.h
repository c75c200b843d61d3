// Evaluation and prediction: every row once, in order, in evaluation mode.
#pragma once
#include "runtime/train/Metrics.h"
#include "runtime/train/Step.h"
#include <functional>

namespace kedge::rt {

class Evaluator {
public:
  /// Throws when the program cannot evaluate, or cannot mask a last partial batch.
  Evaluator(Executor &executor, const Dataset &data, const RunScalars &scalars);

  /// The loss over all rows, weighted by items; nothing when a signal came. Ranks take batches in turn, and all run
  /// equally often.
  std::optional<double> loss(const Progress &progress);

  /// The signal that ended the last evaluation, of any rank; 0: none.
  int stoppedBy() const { return signal; }
  /// Measures these, too, from the next evaluation on; throws when the program cannot.
  void measure(const std::vector<MetricKind> &kinds) { metrics = std::make_unique<Metrics>(executor, kinds); }
  /// Of the last evaluation.
  const std::vector<MetricValue> &values() const { return measured; }

private:
  struct Sums {
    double loss = 0, items = 0;
  };
  void run(const RowRange &rows);
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

/// Whose turn a batch is in evaluation: in round i rank r takes batch i W + r.
class EvaluationRounds {
public:
  EvaluationRounds(const Executor &executor, const Dataset &data);
  int64_t count() const { return rounds; }
  /// The rows of a rank in a round; none where the batches do not go round.
  RowRange rowsOf(int64_t round, int64_t rank) const;
  RowRange ownRows(int64_t round) const { return rowsOf(round, world.rank); }
  const World &ranks() const { return world; }

private:
  World world;
  int64_t batch, rows, rounds;
};

/// Running statistics are each rank's own while it trains; evaluation and files take those of rank 0.
void takeBuffersOfFirstRank(Executor &executor);

/// Takes rows as they were predicted.
using RowSink = std::function<void(const char *rows, size_t bytes)>;

/// All rows of an output, as prediction gives them: fp16 and bf16 as fp32. Throws where it has no rows.
TensorDesc predictedRows(const Program &program, const std::string &name, int64_t rows);

/// Gives the rows of output `name` to `sink` (on rank 0), in order. Returns the signal that ended it before its end, of any
/// rank; else 0.
int predictRows(Executor &executor, const Dataset &data, const RunScalars &scalars, const Progress &progress,
                const std::string &name, const RowSink &sink);

/// Writes output `name` over all rows as FILE.npy (fp16 and bf16 as fp32). Returns the signal that ended it before its
/// end, of any rank, and then there is no file; else 0.
int predict(Executor &executor, const Dataset &data, const RunScalars &scalars, const Progress &progress,
             const std::string &name, const std::string &path);

/// Throws unless the program has this output in evaluation mode.
void checkPredictable(const Program &program, const std::string &name);

} // namespace kedge::rt
