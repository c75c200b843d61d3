// A communicator that sends messages over any transport.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/comm/messages/Messages.h"

namespace kedge::rt::messages {

/// Returns when all ranks are connected. A rank without a heartbeat for `timeoutSeconds` ends the job.
std::unique_ptr<Communicator> communicateBy(std::unique_ptr<Messages> transport, const World &world,
                                            double timeoutSeconds);

} // namespace kedge::rt::messages
