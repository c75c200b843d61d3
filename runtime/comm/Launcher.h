// Which rank this process is, as the launcher's environment tells.
#pragma once
#include "runtime/program/World.h"
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt {

/// Where the ranks of torchrun find each other.
struct MeetingPlace {
  std::string host;
  int64_t port = 0;
  /// The launcher itself listens at `port`: ranks meet at one of those behind it.
  bool isTaken = false;
  /// Alike on all ranks of a job, and of another start of it another.
  std::string job;
};

struct Launched {
  World world;
  int64_t localSize = 1; ///< ranks on this machine
  int64_t localRank = 0; ///< among them
  /// No MPI was started: ranks meet here.
  std::optional<MeetingPlace> meeting;
};

/// From the variables of Open MPI, PMI, Slurm and, where `withTorchrun`, torchrun; one of one without any. Throws rt::Error
/// for launchers that give a program no MPI (torchrun, srun without PMI) where it needs one.
Launched launchedAs(bool withTorchrun);

/// Which rank that is as far as errors go: 0 of none is known.
int64_t rankForMessages();

/// Throws unless the program was compiled for this many ranks.
void checkWorldSize(const World &world, const std::vector<int> &compiledFor);

} // namespace kedge::rt
