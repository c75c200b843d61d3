// How long the ranks of a pipeline take at least, however its stages share the work. Without MLIR.
#pragma once
#include <cstdint>

namespace kedge::solver {

/// `chunks` stages for each rank, stage k on rank k % ranks; 1 or more of each.
struct PipelineShape {
  int64_t ranks = 1, chunks = 1, microBatches = 1;
};

/// The least time from the first slot to the end of the last one, in units of what one micro-batch takes on
/// all stages together. `share` of each stage's work is waited for by others, from 0 to 1: 1 where a stage's
/// backward is whole, that of the forward where gradients of weights may be left for the end.
double leastSpan(const PipelineShape &shape, double share = 1);

} // namespace kedge::solver
