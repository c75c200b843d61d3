// Ranks that mpirun or srun started: messages are MPI's.
#pragma once
#include "runtime/comm/Communicator.h"

namespace kedge::rt {

/// Joins the ranks that the launcher started. Throws rt::Error when there is no MPI, or it sees another world.
/// `timeoutSeconds`: silence of a rank's heartbeat that ends the job.
std::unique_ptr<Communicator> connectByMpi(const World &world, double timeoutSeconds);

} // namespace kedge::rt
