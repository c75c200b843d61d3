// How ranks without MPI find each other: rank 0 listens where the launcher's variables say. All others
// connect to it and learn where each of them listens. At the end every two ranks are connected.
#pragma once
#include "runtime/comm/Launcher.h"
#include "runtime/comm/tcp/Socket.h"

namespace kedge::rt::tcp {

/// Two connections to one rank, so that a message never waits behind one that the receiver has not asked for
/// yet.
struct Connection {
  Socket control, data;
};

/// By rank; the own entry is not open. Throws rt::RuntimeError that names the ranks missing after `seconds`.
std::vector<Connection> meet(const World &world, const Rendezvous &rendezvous, double seconds);

/// Number of ports after MASTER_PORT that are tried if it is in use.
constexpr int64_t kPorts = 16;

} // namespace kedge::rt::tcp
