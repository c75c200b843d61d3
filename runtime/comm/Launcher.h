// The rank of this process, read from the environment variables of the launcher.
#pragma once
#include "runtime/program/World.h"
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt {

/// Where ranks that torchrun started find each other.
struct Rendezvous {
  std::string host;
  int64_t port = 0;
  /// The launcher itself listens at `port`, so ranks use one of the ports after it.
  bool isTaken = false;
  /// The same on all ranks of a job; different when the job is started again.
  std::string job;
  bool allHere = false; ///< all ranks are on this machine
};

struct Launched {
  World world;
  int64_t localSize = 1; ///< ranks on this machine
  int64_t localRank = 0; ///< among them
  /// Set if there is no MPI: ranks meet here.
  std::optional<Rendezvous> meeting;
};

/// Reads the variables of Open MPI, PMI, Slurm and, if `withTorchrun`, torchrun. Without any, one rank of
/// one. Throws rt::RuntimeError if the program needs MPI and the launcher gives it none (torchrun, srun
/// without PMI).
Launched launchedAs(bool withTorchrun);

/// The rank for use in error messages; 0 if none is known.
int64_t rankForMessages();

/// Throws an error unless the program was compiled for this number of ranks.
void checkWorldSize(const World &world, const std::vector<int> &compiledFor);

} // namespace kedge::rt
