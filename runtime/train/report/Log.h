// --log: one JSON object for each step. Writing allocates nothing.
#pragma once
#include "kedge/abi/LossNames.h"
#include "runtime/train/Metrics.h"
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt {

/// What a loss says of a step, by abi::StepMetric; those that it lacks are not set.
using StepMetrics = std::array<std::optional<double>, abi::kStepMetrics.size()>;

/// The terms of a loss that has several, without their weights.
struct LossTerms {
  std::shared_ptr<const std::vector<std::string>> names; ///< null: none
  std::array<double, abi::kMostLosses> values{};

  size_t count() const { return names ? names->size() : 0; }
};

/// How many tokens' places each expert of a layer has had in a step, over all ranks.
struct ExpertCounts {
  std::string layer;
  std::vector<int64_t> counts;
};

struct LogLine {
  int64_t step = 0; ///< from 0: the steps before it
  double loss = 0;
  std::optional<double> lr, gradNorm; ///< null in the log if not set
  double lossScale = 1;
  bool skipped = false;
  int64_t growthCounter = 0, optimizerSteps = 0;
  double seconds = 0, perSecond = 0;
  StepMetrics stepMetrics;
  LossTerms lossTerms;
  std::shared_ptr<const std::vector<ExpertCounts>> experts; ///< null: the program does not count them
  std::optional<int64_t> length; ///< the longest that the step took its rows for, where there are several
  std::optional<double> padding; ///< the share of its places that rows did not fill
  bool countsTokens = false;     ///< perSecond is of tokens, not of samples
  uint64_t memoryBytes = 0;
  std::optional<double> evalLoss;
  std::vector<MetricValue> metrics; ///< in addition to evalLoss
};

/// Throws rt::RuntimeError if the path is a device, a pipe or a folder.
void checkLogFile(const std::string &path);

class Log {
public:
  /// Without `resumeAt` the file is truncated. With it, the lines of that
  /// step and later ones are removed, as is an incomplete last line.
  Log(const std::string &path, std::optional<int64_t> resumeAt);
  ~Log();
  Log(const Log &) = delete;
  Log &operator=(const Log &) = delete;

  /// Appends a line; it is passed to the system before the call returns.
  void write(const LogLine &line);

private:
  void append(std::string_view text, int64_t step);

  std::string name;
  int descriptor = -1;
  std::string withExperts; ///< a line of any length; its room stays
};

} // namespace kedge::rt
