// Ranks that torchrun started have no MPI and use TCP connections of their own. Data
// of GPUs go by NCCL; these connections carry agreements, checkpoints and heartbeats.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/comm/Launcher.h"

namespace kedge::rt {

/// Connects to the ranks that come to `rendezvous`. A rank without a heartbeat for `timeoutSeconds`
/// ends the job. Ranks have the same time to connect, and at least one minute.
std::unique_ptr<Communicator> connectByTcp(const World &world, const Rendezvous &rendezvous,
                                           double timeoutSeconds);

} // namespace kedge::rt
