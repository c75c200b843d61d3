// kedge plan --max-batch INPUT and --max-seq INPUT.
#pragma once
#include "driver/options/CompileOptions.h"

namespace kedge::driver {

/// The options with the largest batch of `options.maxBatchInput` whose plan fits; batch 1, and `maxBatch` 0,
/// when no batch does. Shapes whose first size is that of the input follow it. With --auto: that fits in some
/// way that --auto chooses from. Throws kedge::Error when the input has no shape to begin with.
CompileOptions withLargestBatch(const CompileOptions &options);

/// The same for the second size of `options.maxSeqInput`, and all sizes of inputs that have its symbol in the
/// model. A length that the model does not take (a table of positions ends before) is too long.
CompileOptions withLongestSequence(const CompileOptions &options);

/// Why the next size of what --max-batch or --max-seq has found does not fit, and which single changes would
/// do; empty where it was not memory that ended the search, and with --auto.
std::string whyNoLarger(const CompileOptions &found);

} // namespace kedge::driver
