// Ranks that send messages: a communicator over any transport.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/comm/messages/Messages.h"

namespace kedge::rt::messages {

/// Returns when all ranks are there. `timeoutSeconds`: silence of a rank's heartbeat that ends the job.
std::unique_ptr<Communicator> communicateBy(std::unique_ptr<Messages> transport, const World &world, double timeoutSeconds);

} // namespace kedge::rt::messages
