// Where a rank listens: no further than the job's ranks need it.
#pragma once
#include "runtime/comm/Launcher.h"
#include "runtime/comm/tcp/Socket.h"

namespace kedge::rt::tcp {

/// The host at which rank 0 is looked for: this machine, where all ranks are on it.
std::string hostOfFirst(const Rendezvous &rendezvous);
/// Rank 0's listener, at the first port that is free. With a secret it is open to all; without one it
/// listens at the address that MASTER_ADDR or NCCL_SOCKET_IFNAME names. Throws rt::RuntimeError if there is
/// no such address here, or no free port.
Socket listenAsFirst(const Rendezvous &rendezvous, bool hasSecret);
/// Of a rank that has reached rank 0 by `connection`: where that one and the others reach it.
Socket listenAsOther(const Rendezvous &rendezvous, const Socket &connection, bool hasSecret);

/// Where a rank listens, as rank 0 tells it the others.
struct Address {
  char host[64] = ""; ///< in numbers, ending with 0; empty: on the machine of rank 0
  int64_t port = 0;
};

/// Nothing if it is not the address of a rank.
std::optional<std::string> hostIn(const Address &address);

/// Of the interfaces that NCCL_SOCKET_IFNAME names: its value is a list of prefixes, of whole names after
/// "=", of what is left out after "^". In numbers.
std::vector<std::string> addressesOfInterfaces(const std::string &names);

/// Number of ports after MASTER_PORT that are tried if it is in use.
constexpr int64_t kPorts = 16;

} // namespace kedge::rt::tcp
