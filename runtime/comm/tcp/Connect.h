// Ranks that torchrun started, which gives them no MPI: messages go over connections of their own. What GPUs exchange does
// not; these carry agreements, checkpoints and heartbeats.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/comm/Launcher.h"

namespace kedge::rt {

/// Joins the ranks that come to `place`. `timeoutSeconds`: silence of a rank's heartbeat that ends the job; ranks have as
/// long to come, and a minute at least.
std::unique_ptr<Communicator> connectByTcp(const World &world, const MeetingPlace &place, double timeoutSeconds);

} // namespace kedge::rt
