// Collectives of ranks as calls of NCCL, and the ops in which a rank takes its own part of a tensor.
#pragma once
#include "runtime/cuda/library/LibraryLaunch.h"
#include "runtime/cuda/library/NcclRanks.h"

namespace kedge::rt::cuda {

/// The launch of a collective, or of dist.local_shard. `ranks` may be null if the program has one rank.
std::unique_ptr<LibraryLaunch> makeRankLaunch(Gpu &gpu, NcclRanks *ranks, const Launch &launch,
                                              const LaunchPointers &pointers, CUstream stream);

} // namespace kedge::rt::cuda
