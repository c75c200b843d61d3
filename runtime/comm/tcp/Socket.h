// A TCP connection, and where one listens. Nothing waits beyond a deadline (steadyNanoseconds).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

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
  /// All of the bytes; false when the deadline or the connection's end came first.
  bool sendAll(const void *bytes, size_t count, int64_t deadline) const;
  bool receiveAll(void *bytes, size_t count, int64_t deadline) const;
  /// What can be moved at once; 0: nothing now, nothing (the optional): the connection has ended.
  std::optional<size_t> sendSome(const void *bytes, size_t count) const;
  std::optional<size_t> receiveSome(void *bytes, size_t count) const;

private:
  int file = -1;
};

/// On all of this machine's addresses; `port` 0: any that is free, of which portOf tells. Not open where it is taken.
Socket listenAt(int64_t port);
int64_t portOf(const Socket &listening);
/// The next who connects; not open when the deadline came first. `host`: from where.
Socket acceptFrom(const Socket &listening, int64_t deadline, std::string *host = nullptr);
/// Not open when nobody listens there, or no name is known; `reason` tells then.
Socket connectTo(const std::string &host, int64_t port, int64_t deadline, std::string *reason = nullptr);

} // namespace kedge::rt::tcp
