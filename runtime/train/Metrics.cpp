#include "runtime/train/Metrics.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cmath>

namespace kedge::rt {
namespace {

struct MetricFacts {
  MetricKind kind;
  const char *name, *key;
  bool growsBetter;
  const char *losses; ///< that it is defined for
};

constexpr MetricFacts kFacts[] = {
    {MetricKind::Accuracy, "accuracy", "eval_accuracy", true, "cross-entropy, bce-with-logits"},
    {MetricKind::Top5, "top5", "eval_top5", true, "cross-entropy"},
    {MetricKind::Perplexity, "perplexity", "eval_perplexity", false, "cross-entropy, none"},
    {MetricKind::F1, "f1", "eval_f1", true, "cross-entropy, bce-with-logits"},
    {MetricKind::Mae, "mae", "eval_mae", false, "mse"},
};

const MetricFacts &factsOf(MetricKind kind) { return kFacts[static_cast<size_t>(kind)]; }

/// "a, b" holds "a".
bool lists(std::string_view list, std::string_view name) {
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(", ", begin), list.size());
    if (list.substr(begin, end - begin) == name)
      return true;
    begin = end + 2;
  }
  return false;
}

/// Columns of one logit per row are one.
MetricLayout layoutOf(const std::vector<int64_t> &shape, const CompiledOptions &options) {
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t given = options.classAxis ? *options.classAxis : rank <= 3 ? -1 : 1;
  const int64_t axis = given < 0 ? given + rank : given;
  MetricLayout layout;
  layout.classes = options.lossName == "cross-entropy";
  for (int64_t i = 0; i < rank; ++i)
    (i < axis || axis == 0 ? layout.outer
     : i == axis           ? layout.count
                           : layout.inner) *= shape[static_cast<size_t>(i)];
  return layout;
}

} // namespace

MetricKind metricNamed(const std::string &flag, const std::string &name) {
  std::string known;
  for (const MetricFacts &facts : kFacts) {
    if (name == facts.name)
      return facts.kind;
    known += (known.empty() ? "" : ", ") + std::string(facts.name);
  }
  fail("{}: '{}' is no metric: expected {}", flag, name, known);
}

const char *metricName(MetricKind kind) { return factsOf(kind).name; }
const char *metricKey(MetricKind kind) { return factsOf(kind).key; }
bool growsBetter(MetricKind kind) { return factsOf(kind).growsBetter; }

void MetricSums::clear() {
  for (double *total : totals())
    *total = 0;
  counts.assign(static_cast<size_t>(3 * layout.count), 0.0);
}

void MetricSums::add(const float *logits, const void *labels, DType labelType, int64_t outer,
                     std::optional<int64_t> ignored) {
  std::vector<float> row(static_cast<size_t>(layout.count));
  for (int64_t block = 0; block < outer; ++block)
    for (int64_t i = 0; i < layout.inner; ++i) {
      const int64_t first = block * layout.count * layout.inner + i;
      for (int64_t k = 0; k < layout.count; ++k)
        row[static_cast<size_t>(k)] = logits[first + k * layout.inner];
      if (!layout.classes) {
        for (int64_t k = 0; k < layout.count; ++k)
          addElement(row[static_cast<size_t>(k)], loadAsDouble(labelType, labels, first + k * layout.inner),
                     k);
        continue;
      }
      const int64_t label = loadAsInt(labelType, labels, block * layout.inner + i);
      if (!ignored || label != *ignored)
        addClass(row.data(), label);
    }
}

void MetricSums::addClass(const float *logits, int64_t label) {
  if (label < 0 || label >= layout.count)
    fail("evaluation: the label {} is none of {} classes", label, layout.count);
  const int64_t best = std::max_element(logits, logits + layout.count) - logits;
  int64_t before = 0;
  for (int64_t k = 0; k < layout.count; ++k)
    before += logits[k] > logits[label] || (logits[k] == logits[label] && k < label);
  items += 1;
  right += best == label;
  amongFive += before < 5;
  counts[static_cast<size_t>(3 * label)] += best == label;
  counts[static_cast<size_t>(3 * best + 1)] += 1;
  counts[static_cast<size_t>(3 * label + 2)] += 1;
}

void MetricSums::addElement(float logit, double label, int64_t column) {
  const bool said = logit > 0, is = label > 0.5;
  items += 1;
  right += said == is;
  error += std::fabs(static_cast<double>(logit) - label);
  counts[static_cast<size_t>(3 * column)] += said && is;
  counts[static_cast<size_t>(3 * column + 1)] += said;
  counts[static_cast<size_t>(3 * column + 2)] += is;
}

void MetricSums::sumOver(Communicator *ranks) {
  for (double *total : totals())
    sumOverRanks(ranks, total, 1);
  sumOverRanks(ranks, counts.data(), counts.size());
}

double MetricSums::macroF1() const {
  double sum = 0, classes = 0;
  for (size_t k = 0; k < counts.size(); k += 3)
    if (const double both = counts[k + 1] + counts[k + 2]; both > 0) {
      sum += 2 * counts[k] / both;
      classes += 1;
    }
  return sum / classes;
}

double MetricSums::value(MetricKind kind, double loss) const {
  switch (kind) {
  case MetricKind::Accuracy:
    return right / items;
  case MetricKind::Top5:
    return amongFive / items;
  case MetricKind::Perplexity:
    return std::exp(loss);
  case MetricKind::F1:
    return macroF1();
  case MetricKind::Mae:
    return error / items;
  }
  return loss;
}

Metrics::Metrics(const Executor &executor, const std::vector<MetricKind> &kinds)
    : program(executor.program()), kinds(kinds) {
  check();
  if (std::all_of(kinds.begin(), kinds.end(), [](MetricKind kind) { return kind == MetricKind::Perplexity; }))
    return;
  if (program.hasOutputs())
    findLogits(executor);
  if (program.isPipelined())
    takeFromFirst(*executor.communicator());
  sums = std::make_unique<MetricSums>(layout);
}

/// Ranks without outputs run what the first one reads, and add nothing to as many sums.
void Metrics::takeFromFirst(Communicator &ranks) {
  struct Facts {
    int64_t isEval = 0, classes = 0;
  } facts{from && std::string_view(from) == "eval", layout.count};
  ranks.broadcast(&facts, sizeof(facts));
  from = facts.isEval ? "eval" : "predict";
  layout.count = facts.classes;
}

void Metrics::findLogits(const Executor &executor) {
  const std::vector<std::string> outputs = floatOutputs(program);
  const std::string name =
      program.options.logits.empty() && outputs.size() == 1 ? outputs.front() : program.options.logits;
  for (const InputSpec &input : program.inputs)
    if (input.labels)
      labels = &input;
  from = functionWith(program, name);
  if (!labels || !from)
    fail("--metric: the program '{}' keeps no logits to measure: compile it again", program.name);
  const std::vector<int64_t> &shape = outputOf(program, from, name)->desc.shape;
  if (shape.empty() || shape[0] != program.options.batch)
    fail("--metric: the shape {} of '{}' has no leading batch of {} rows", shapeText(shape), name,
         program.options.batch);
  layout = layoutOf(shape, program.options);
  for (MetricKind kind : kinds)
    if (kind == MetricKind::Top5 && layout.count < 5)
      fail("--metric top5: '{}' tells {} classes apart: at least 5 are needed", name, layout.count);
  logits = std::make_unique<OutputReader>(executor, from, name, DType::F32);
}

void Metrics::check() const {
  for (MetricKind kind : kinds)
    if (!lists(factsOf(kind).losses, program.options.lossName))
      fail("--metric {}: is defined for --loss {}; the program was compiled with --loss {}", metricName(kind),
           factsOf(kind).losses, program.options.lossName);
}

void Metrics::begin() {
  if (sums)
    sums->clear();
}

void Metrics::takeLabels(Executor &executor) {
  if (!labels)
    return;
  const char *bytes = executor.input("eval", labels->name);
  kept.assign(bytes, bytes + labels->desc.bytes());
}

void Metrics::add(int64_t rows) {
  const int64_t blocks = layout.outer / program.options.batch * rows;
  sums->add(reinterpret_cast<const float *>(logits->finish()), kept.data(), labels->desc.type, blocks,
            program.options.ignoreIndex);
}

std::vector<MetricValue> Metrics::values(double loss, Communicator *ranks) {
  if (sums)
    sums->sumOver(ranks);
  std::vector<MetricValue> values;
  for (MetricKind kind : kinds)
    values.push_back({kind, sums ? sums->value(kind, loss) : std::exp(loss)});
  return values;
}

} // namespace kedge::rt
