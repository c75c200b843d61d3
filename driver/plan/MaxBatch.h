// kedge plan --max-batch INPUT and --max-seq INPUT.
#pragma once
#include "driver/options/CompileOptions.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

/// What --max-batch or --max-seq has found.
struct LargestSize {
  CompileOptions options; ///< with that size; with 1 where none fits
  int64_t size = 0;       ///< 0: none fits
  int64_t nextLarger = 0; ///< that was found not to fit

  /// "max_batch" or "max_seq" of the memory report.
  void addTo(nlohmann::json &report) const;
};

/// The largest batch of `options.plan.maxBatchInput` whose plan fits, to within a 64th. Shapes whose first
/// size is that of the input follow it. With --auto: that fits in some way that --auto chooses from. Throws
/// kedge::Error when the input has no shape to begin with.
LargestSize largestBatch(const CompileOptions &options);

/// The same for the second size of `options.plan.maxSeqInput`, and all sizes of inputs that have its symbol
/// in the model. A length that the model does not take (a table of positions ends before) is too long.
LargestSize longestSequence(const CompileOptions &options);

/// Why the next larger size does not fit, and which single changes would do; empty where it was not memory
/// that ended the search, and with --auto.
std::string whyNoLarger(const LargestSize &found);

} // namespace kedge::driver
