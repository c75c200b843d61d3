// --metric: what evaluation measures beside the loss.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/train/OutputReader.h"
#include <array>
#include <memory>

namespace kedge::rt {

enum class MetricKind : uint8_t {
  Accuracy,   ///< share of items whose largest logit is the label's; bce: whose sign is the label's
  Top5,       ///< share of items whose label is among the five largest logits
  Perplexity, ///< exp(loss)
  F1,         ///< macro: mean over classes (bce: columns) that occur as a label or a prediction of 2 TP / (2 TP + FP + FN)
  Mae         ///< mean absolute error
};

/// accuracy, top5, perplexity, f1, mae; throws for another name, with `flag` in the message.
MetricKind metricNamed(const std::string &flag, const std::string &name);
const char *metricName(MetricKind kind);
/// The key in the log: "eval_accuracy".
const char *metricKey(MetricKind kind);
/// Whether a larger value is the better one.
bool growsBetter(MetricKind kind);

struct MetricValue {
  MetricKind kind;
  double value = 0; ///< NaN of no item
};

/// How logits and labels of a batch lie: classes along one axis, between `outer` and `inner` others.
struct MetricLayout {
  bool classes = true; ///< labels are class numbers; else one a logit
  int64_t outer = 1, count = 1, inner = 1;
};

/// Sums over the items of an evaluation.
class MetricSums {
public:
  explicit MetricSums(const MetricLayout &layout) : layout(layout) {}
  void clear();
  /// Of the first `outer` blocks: fp32 logits, and labels of their type. Labels that are `ignored` count nowhere.
  void add(const float *logits, const void *labels, DType labelType, int64_t outer, std::optional<int64_t> ignored);
  void sumOver(Communicator *ranks);
  double value(MetricKind kind, double loss) const;

private:
  void addClass(const float *logits, int64_t label);
  void addElement(float logit, double label, int64_t column);
  double macroF1() const;
  std::array<double *, 4> totals() { return {&items, &right, &amongFive, &error}; }

  MetricLayout layout;
  double items = 0, right = 0, amongFive = 0, error = 0;
  std::vector<double> counts; ///< a class: true positives, predictions, labels
};

/// The metrics of a program's evaluation.
class Metrics {
public:
  /// Throws when the loss that the program was compiled with has nothing to measure so.
  Metrics(const Executor &executor, const std::vector<MetricKind> &kinds);

  void begin();
  /// Keeps the labels of the batch that lies ready for @eval, whose run may overwrite them.
  void takeLabels(Executor &executor);
  /// The function to run for the logits, null when none is needed, and who watches it.
  const char *function() const { return from; }
  OutputReader *reader() { return logits.get(); }
  /// Adds the first `rows` rows, once the function has run.
  void add(int64_t rows);
  std::vector<MetricValue> values(double loss, Communicator *ranks);

private:
  void check() const;

  const Program &program;
  std::vector<MetricKind> kinds;
  const char *from = nullptr;
  std::unique_ptr<OutputReader> logits;
  MetricLayout layout;
  std::unique_ptr<MetricSums> sums;
  const InputSpec *labels = nullptr;
  std::vector<char> kept; ///< labels of the batch
};

} // namespace kedge::rt
