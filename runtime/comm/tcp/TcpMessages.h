// Messages over connections of TCP, two to each other rank.
#pragma once
#include "runtime/comm/messages/Messages.h"
#include "runtime/comm/tcp/Meeting.h"
#include <memory>

namespace kedge::rt::tcp {

/// Over connections that are there already, by rank, without a meeting.
std::unique_ptr<messages::Messages> messagesOver(std::vector<Connection> connections, const World &world,
                                                 double timeoutSeconds);

} // namespace kedge::rt::tcp
