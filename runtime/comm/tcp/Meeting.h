// How ranks without MPI find each other: rank 0 listens where the launcher's variables say, all others come there, and
// learn from it where each of them listens. In the end every two ranks are connected.
#pragma once
#include "runtime/comm/Launcher.h"
#include "runtime/comm/tcp/Socket.h"

namespace kedge::rt::tcp {

/// Of two ranks: what the one sends must never wait for room behind what the other has not asked for yet.
struct Connection {
  Socket control, data;
};

/// By rank; that of the rank itself is not open. Throws rt::Error that says who did not come within `seconds`.
std::vector<Connection> meet(const World &world, const MeetingPlace &place, double seconds);

/// Ports behind MASTER_PORT that are tried where it is taken.
constexpr int64_t kPorts = 16;

} // namespace kedge::rt::tcp
