// --metric: what evaluation measures besides the loss.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/train/output/OutputReader.h"
#include <array>
#include <memory>

namespace kedge::rt {

enum class MetricKind : uint8_t {
  Accuracy,   ///< items whose largest logit is the label's, or (bce) whose logit has the label's sign, as a
              ///< share
  Top5,       ///< share of items whose label is among the five largest logits
  Perplexity, ///< exp(loss)
  F1, ///< mean of 2 TP / (2 TP + FP + FN) over classes (bce: columns) that occur in labels or predictions
  Mae ///< mean absolute error
};

/// accuracy, top5, perplexity, f1, mae. Throws for any other name; `flag` is for the message.
MetricKind metricNamed(const std::string &flag, const std::string &name);
const char *metricName(MetricKind kind);
/// The name in the log: "eval_accuracy".
const char *metricKey(MetricKind kind);
/// Whether larger values are better.
bool growsBetter(MetricKind kind);

struct MetricValue {
  MetricKind kind;
  double value = 0; ///< NaN if there were no items
};

/// Layout of logits and labels in a batch: classes along one axis, with `outer` elements before and `inner`
/// after it.
struct MetricLayout {
  bool classes = true; ///< labels are class numbers; otherwise one for each logit
  int64_t outer = 1, count = 1, inner = 1;
};

/// Sums over the items of an evaluation.
class MetricSums {
public:
  explicit MetricSums(const MetricLayout &layout) : layout(layout) {}
  void clear();
  /// Adds the first `outer` blocks: fp32 logits, and labels of the given type. Labels equal to `ignored` are
  /// left out.
  void add(const float *logits, const void *labels, DType labelType, int64_t outer,
           std::optional<int64_t> ignored);
  void sumOver(Communicator *ranks);
  double value(MetricKind kind, double loss) const;

private:
  void addClass(const float *logits, int64_t label);
  void addElement(float logit, double label, int64_t column);
  double macroF1() const;
  std::array<double *, 4> totals() { return {&items, &right, &amongFive, &error}; }

  MetricLayout layout;
  double items = 0, right = 0, amongFive = 0, error = 0;
  std::vector<double> counts; ///< for each class: true positives, predictions, labels
};

/// The metrics of a program's evaluation.
class Metrics {
public:
  /// Throws if the program's loss does not allow one of these metrics.
  Metrics(const Executor &executor, const std::vector<MetricKind> &kinds);

  void begin();
  /// Saves the labels of the batch for @eval, because @eval may overwrite them.
  void takeLabels(Executor &executor);
  /// The function to run to get the logits, null if they are not needed, and the observer to run it with:
  /// null on a rank that has no outputs.
  const char *function() const { return from; }
  OutputReader *reader() { return logits.get(); }
  /// Adds the first `rows` rows; call it after the function has run.
  void add(int64_t rows);
  std::vector<MetricValue> values(double loss, Communicator *ranks);

private:
  void check() const;
  void findLogits(const Executor &executor);
  void takeFromFirst(Communicator &ranks);

  const Program &program;
  std::vector<MetricKind> kinds;
  const char *from = nullptr;
  std::unique_ptr<OutputReader> logits;
  MetricLayout layout;
  std::unique_ptr<MetricSums> sums;
  const InputSpec *labels = nullptr;
  std::vector<char> kept; ///< the saved labels of the batch
};

} // namespace kedge::rt
