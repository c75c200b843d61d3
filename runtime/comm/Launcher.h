// Which rank this process is, as the launcher's environment tells.
#pragma once
#include "runtime/program/World.h"
#include <vector>

namespace kedge::rt {

struct Launched {
  World world;
  int64_t localSize = 1; ///< ranks on this machine
};

/// From the variables of Open MPI, PMI and Slurm; one of one without any. Throws rt::Error for launchers that give a
/// program no MPI (torchrun, srun without PMI).
Launched launchedAs();

/// Which rank that is as far as errors go: 0 of none is known.
int64_t rankForMessages();

/// Throws unless the program was compiled for this many ranks.
void checkWorldSize(const World &world, const std::vector<int> &compiledFor);

} // namespace kedge::rt
