// Ranks that mpirun or srun started communicate by MPI.
#pragma once
#include "runtime/comm/Communicator.h"

namespace kedge::rt {

/// Connects to the ranks that the launcher started. Throws rt::RuntimeError if MPI is missing or reports
/// another number of ranks. A rank without a heartbeat for `timeoutSeconds` ends the job.
std::unique_ptr<Communicator> connectByMpi(const World &world, double timeoutSeconds);

} // namespace kedge::rt
