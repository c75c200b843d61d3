#include "runtime/comm/tcp/Socket.h"
#include "runtime/comm/Communicator.h"
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace kedge::rt::tcp {
namespace {

bool awaitSocket(int file, short events, int64_t deadline) {
  for (;;) {
    const int64_t left = (deadline - steadyNanoseconds()) / 1'000'000;
    pollfd one{file, events, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX)));
    if (ready > 0 || (ready < 0 && errno != EINTR))
      return ready > 0;
    if (left <= 0)
      return false;
  }
}

bool isAgain() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/// A file of a new connection: small messages leave at once, no child inherits it, nothing blocks.
Socket prepared(int file) {
  const int on = 1;
  setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
  return Socket(file);
}

struct Addresses {
  addrinfo *list = nullptr;
  int code = 0;
  Addresses(const std::string &host, int64_t port, int flags) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = flags;
    code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
    if (code != 0)
      list = nullptr;
  }
  ~Addresses() {
    if (list)
      freeaddrinfo(list);
  }
  Addresses(const Addresses &) = delete;
  Addresses &operator=(const Addresses &) = delete;
};

std::string numbersOf(const sockaddr *place, socklen_t length) {
  char text[NI_MAXHOST] = "";
  return getnameinfo(place, length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

/// Not open, with errno, if it cannot.
Socket listenAtPlace(const addrinfo &place) {
  Socket made(socket(place.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!made.isOpen())
    return made;
  const int on = 1, off = 0;
  setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (place.ai_family == AF_INET6)
    setsockopt(made.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(made.number(), place.ai_addr, place.ai_addrlen) != 0)
    return Socket();
  fcntl(made.number(), F_SETFL, fcntl(made.number(), F_GETFL) | O_NONBLOCK);
  return listen(made.number(), 4096) == 0 ? std::move(made) : Socket();
}

} // namespace

Socket::~Socket() {
  if (file >= 0)
    close(file);
}

Socket &Socket::operator=(Socket &&other) noexcept {
  std::swap(file, other.file);
  return *this;
}

std::optional<size_t> Socket::sendSome(const void *bytes, size_t count) const {
  const ssize_t moved = send(file, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (moved >= 0)
    return static_cast<size_t>(moved);
  return isAgain() ? std::optional<size_t>(0) : std::nullopt;
}

std::optional<size_t> Socket::receiveSome(void *bytes, size_t count) const {
  const ssize_t moved = recv(file, bytes, count, MSG_DONTWAIT);
  if (moved > 0)
    return static_cast<size_t>(moved);
  return moved < 0 && isAgain() ? std::optional<size_t>(0) : std::nullopt;
}

bool Socket::isClosed() const {
  char next = 0;
  const ssize_t seen = recv(file, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return seen == 0 || (seen < 0 && !isAgain());
}

bool Socket::sendAll(const void *bytes, size_t count, int64_t deadline) const {
  for (const char *at = static_cast<const char *>(bytes), *end = at + count; at < end;) {
    const auto moved = sendSome(at, static_cast<size_t>(end - at));
    if (!moved || (*moved == 0 && !awaitSocket(file, POLLOUT, deadline)))
      return false;
    at += *moved;
  }
  return true;
}

bool Socket::receiveAll(void *bytes, size_t count, int64_t deadline) const {
  for (char *at = static_cast<char *>(bytes), *end = at + count; at < end;) {
    const auto moved = receiveSome(at, static_cast<size_t>(end - at));
    if (!moved || (*moved == 0 && !awaitSocket(file, POLLIN, deadline)))
      return false;
    at += *moved;
  }
  return true;
}

Socket listenAt(int64_t port, const std::string &address) {
  // One socket of both kinds of addresses, or of the old kind where the machine has no other.
  for (const char *any : {"::", "0.0.0.0"}) {
    const Addresses found(address.empty() ? any : address, port, AI_NUMERICHOST | AI_PASSIVE);
    if (found.list) {
      Socket made = listenAtPlace(*found.list);
      if (made.isOpen() || errno == EADDRINUSE || errno == EACCES)
        return made;
    }
    if (!address.empty())
      break;
  }
  return Socket();
}

int64_t portOf(const Socket &listening) {
  sockaddr_storage place{};
  socklen_t length = sizeof(place);
  if (getsockname(listening.number(), reinterpret_cast<sockaddr *>(&place), &length) != 0)
    return 0;
  return ntohs(place.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&place)->sin6_port
                                           : reinterpret_cast<sockaddr_in *>(&place)->sin_port);
}

Socket acceptFrom(const Socket &listening, int64_t deadline, std::string *host) {
  sockaddr_storage place{};
  socklen_t length = sizeof(place);
  int file = -1;
  while ((file = accept4(listening.number(), reinterpret_cast<sockaddr *>(&place), &length, SOCK_CLOEXEC)) <
         0)
    if (!awaitSocket(listening.number(), POLLIN, deadline))
      return Socket();
  if (host)
    *host = numbersOf(reinterpret_cast<sockaddr *>(&place), length);
  return prepared(file);
}

std::string ownAddressOf(const Socket &connection) {
  sockaddr_storage place{};
  socklen_t length = sizeof(place);
  if (getsockname(connection.number(), reinterpret_cast<sockaddr *>(&place), &length) != 0)
    return "";
  return numbersOf(reinterpret_cast<sockaddr *>(&place), length);
}

std::vector<std::string> addressesOf(const std::string &host) {
  std::vector<std::string> found;
  const Addresses all(host, 0, 0);
  for (const addrinfo *place = all.list; place; place = place->ai_next)
    found.push_back(numbersOf(place->ai_addr, place->ai_addrlen));
  return found;
}

bool isAddress(const std::string &text) { return Addresses(text, 0, AI_NUMERICHOST).list != nullptr; }

bool isLoopback(const std::string &address) {
  return address.starts_with("127.") || address.starts_with("::ffff:127.") || address == "::1";
}

Socket connectTo(const std::string &host, int64_t port, int64_t deadline, std::string *reason) {
  const Addresses found(host, port, 0);
  if (!found.list) {
    if (reason)
      *reason = gai_strerror(found.code);
    return Socket();
  }
  for (const addrinfo *place = found.list; place; place = place->ai_next) {
    const int file = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0)
      continue;
    Socket made = prepared(file);
    int error = connect(file, place->ai_addr, place->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      socklen_t length = sizeof(error);
      error = ETIMEDOUT;
      if (awaitSocket(file, POLLOUT, deadline))
        getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &length);
    }
    if (error == 0)
      return made;
    if (reason)
      *reason = std::strerror(error);
  }
  return Socket();
}

} // namespace kedge::rt::tcp
