// Collectives of ranks as calls of NCCL, and what a rank does of them alone.
#pragma once
#include "runtime/cuda/LibraryLaunch.h"
#include "runtime/cuda/NcclRanks.h"

namespace kedge::rt::cuda {

/// The launch of a collective, or of dist.own_part. `ranks` may be null: a program of one rank.
std::unique_ptr<LibraryLaunch> makeRankLaunch(Gpu &gpu, NcclRanks *ranks, const Launch &launch, const LaunchPlaces &places,
                                              CUstream stream);

} // namespace kedge::rt::cuda
