#include "runtime/comm/tcp/Place.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace kedge::rt::tcp {
namespace {

constexpr const char *kLoopback = "127.0.0.1", *kInterfaces = "NCCL_SOCKET_IFNAME";

struct Interfaces {
  ifaddrs *list = nullptr;
  Interfaces() {
    if (getifaddrs(&list) != 0)
      list = nullptr;
  }
  ~Interfaces() {
    if (list)
      freeifaddrs(list);
  }
};

std::vector<std::string> split(const std::string &names) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find(',', at), names.size());
    if (end > at)
      parts.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// As NCCL reads its variable.
bool isNamed(const std::string &interface, std::string names) {
  const bool leavesOut = names.starts_with('^');
  names.erase(0, leavesOut ? 1 : 0);
  const bool isWhole = names.starts_with('=');
  names.erase(0, isWhole ? 1 : 0);
  const std::vector<std::string> parts = split(names);
  const bool isListed = std::any_of(parts.begin(), parts.end(), [&](const std::string &part) {
    return isWhole ? interface == part : interface.starts_with(part);
  });
  return isListed != leavesOut;
}

/// A name of this machine that its table of hosts gives an address of its own alone (127.0.1.1).
bool isOwnOnly(const std::string &host, const std::string &address) {
  return isLoopback(address) && host != address && host != "localhost";
}

std::string addressOfFirst(const Rendezvous &rendezvous) {
  const std::vector<std::string> named = addressesOf(rendezvous.host);
  for (const std::string &address : named)
    if (!isOwnOnly(rendezvous.host, address) && listenAt(0, address).isOpen())
      return address;
  const char *names = std::getenv(kInterfaces);
  for (const std::string &address : addressesOfInterfaces(names ? names : ""))
    if (listenAt(0, address).isOpen())
      return address;
  fail("rank 0 has no address to listen at: MASTER_ADDR={} ({}) is none of this machine that others reach. "
       "Name the network's interface by {}, or give all ranks a secret (KEDGE_JOB_SECRET), with which rank 0 "
       "listens at all addresses",
       rendezvous.host, named.empty() ? "unknown" : fmt::format("{}", fmt::join(named, ", ")), kInterfaces);
}

} // namespace

std::optional<std::string> hostIn(const Address &address) {
  const std::string host(address.host, strnlen(address.host, sizeof(address.host)));
  const bool hasEnd = host.size() < sizeof(address.host);
  const bool isPort = address.port >= 1 && address.port <= 65535;
  return hasEnd && isPort && (host.empty() || isAddress(host)) ? std::optional(host) : std::nullopt;
}

std::vector<std::string> addressesOfInterfaces(const std::string &names) {
  std::vector<std::string> found;
  const Interfaces all;
  for (const ifaddrs *one = names.empty() ? nullptr : all.list; one; one = one->ifa_next) {
    const int family = one->ifa_addr ? one->ifa_addr->sa_family : AF_UNSPEC;
    const bool isUsable = (family == AF_INET || family == AF_INET6) && (one->ifa_flags & IFF_UP) != 0;
    if (!isUsable || !isNamed(one->ifa_name, names))
      continue;
    char text[NI_MAXHOST] = "";
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (getnameinfo(one->ifa_addr, length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0)
      found.emplace_back(text);
  }
  return found;
}

std::string hostOfFirst(const Rendezvous &rendezvous) {
  return rendezvous.allHere ? kLoopback : rendezvous.host;
}

Socket listenAsFirst(const Rendezvous &rendezvous, bool hasSecret) {
  const std::string address = rendezvous.allHere ? kLoopback : hasSecret ? "" : addressOfFirst(rendezvous);
  for (int64_t port = rendezvous.port + (rendezvous.isTaken ? 1 : 0); port <= rendezvous.port + kPorts;
       ++port)
    if (Socket listening = listenAt(port, address); listening.isOpen())
      return listening;
  fail("rank 0 cannot listen at a port from {} (MASTER_PORT) to {}: all are taken", rendezvous.port,
       rendezvous.port + kPorts);
}

Socket listenAsOther(const Rendezvous &rendezvous, const Socket &connection, bool hasSecret) {
  return listenAt(0, hasSecret && !rendezvous.allHere ? "" : ownAddressOf(connection));
}

} // namespace kedge::rt::tcp
