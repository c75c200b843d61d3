// How ranks without MPI find each other: rank 0 listens where the launcher's variables say. All others
// connect to it and learn where each of them listens. At the end every two ranks are connected.
#pragma once
#include "runtime/comm/Launcher.h"
#include "runtime/comm/tcp/Place.h"
#include "runtime/comm/tcp/Socket.h"

namespace kedge::rt::tcp {

/// Two connections to one rank, so that a message never waits behind one that the receiver has not asked for
/// yet.
struct Connection {
  Socket control, data;
};

/// By rank; the own entry is not open. Throws rt::RuntimeError that names the ranks missing after `seconds`,
/// or at once a rank that goes meanwhile, and what is different where a rank is refused.
std::vector<Connection> meet(const World &world, const Rendezvous &rendezvous, double seconds);

} // namespace kedge::rt::tcp
