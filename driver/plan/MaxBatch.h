// kedge plan --max-batch INPUT.
#pragma once
#include "driver/options/CompileOptions.h"

namespace kedge::driver {

/// The options with the largest batch of `options.maxBatchInput` whose plan fits; batch 1, and `maxBatch` 0,
/// when no batch does. Shapes whose first size is that of the input follow it. Throws kedge::Error when the
/// input has no shape to begin with.
CompileOptions withLargestBatch(const CompileOptions &options);

} // namespace kedge::driver
