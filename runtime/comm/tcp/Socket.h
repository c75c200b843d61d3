// A TCP connection or a listening socket. No call blocks beyond its deadline (in steadyNanoseconds).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt::tcp {

class Socket {
public:
  Socket() = default;
  explicit Socket(int file) : file(file) {}
  ~Socket();
  Socket(Socket &&other) noexcept : file(other.file) { other.file = -1; }
  Socket &operator=(Socket &&other) noexcept;

  int number() const { return file; }
  bool isOpen() const { return file >= 0; }
  /// Sends all bytes; false if the deadline passed or the connection was closed before.
  bool sendAll(const void *bytes, size_t count, int64_t deadline) const;
  bool receiveAll(void *bytes, size_t count, int64_t deadline) const;
  /// Sends what is possible without blocking. 0: nothing at the moment; nullopt: the connection was closed.
  std::optional<size_t> sendSome(const void *bytes, size_t count) const;
  std::optional<size_t> receiveSome(void *bytes, size_t count) const;
  /// Whether the other side has closed it. Reads nothing.
  bool isClosed() const;

private:
  int file = -1;
};

/// Listens on this address, or on all of this machine; `port` 0 takes any free one (see portOf). Not open if
/// the port is in use, or the address none of this machine.
Socket listenAt(int64_t port, const std::string &address = "");
int64_t portOf(const Socket &listening);
/// This side's address of a connection, in numbers.
std::string ownAddressOf(const Socket &connection);
/// Accepts the next connection; not open if the deadline passed before. `host`: where it comes from.
Socket acceptFrom(const Socket &listening, int64_t deadline, std::string *host = nullptr);
/// The addresses of a host, in numbers; none if the name is unknown.
std::vector<std::string> addressesOf(const std::string &host);
bool isAddress(const std::string &text);
/// Of an address in numbers.
bool isLoopback(const std::string &address);
/// Not open if nobody listens there or the name is unknown; `reason` is set then.
Socket connectTo(const std::string &host, int64_t port, int64_t deadline, std::string *reason = nullptr);

} // namespace kedge::rt::tcp
