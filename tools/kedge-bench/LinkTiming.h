// Times of collectives between the ranks that a launcher started.
#pragma once
#include "lib/Analysis/DeviceLinks.h"
#include "runtime/program/World.h"

namespace kedge::bench {

/// One level, for any number of ranks: what a rank sends a second and what a collective takes beyond that,
/// from reduce-scatters and all-gathers of the runtime over MPI, small and large. The same on all ranks; the
/// first prints what it measured. Throws kedge::Error for a single rank, rt::RuntimeError without MPI.
analysis::LinkLevels measuredLinks();
/// Whether this is the rank that writes.
bool isFirstRank();

} // namespace kedge::bench
