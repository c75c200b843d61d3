// One of the two connections to another rank. Sends and receives messages with headers, in order, without
// blocking.
#pragma once
#include "runtime/comm/tcp/Socket.h"
#include <vector>

namespace kedge::rt::tcp {

/// The header of a message.
struct Head {
  uint64_t count = 0;
  int32_t tag = 0;
  uint32_t magic = 0x6b656467;
};

/// A message to receive or to send.
struct Post {
  const char *from = nullptr;
  char *into = nullptr;
  size_t count = 0;
  int tag = 0;
  bool done = false;
};

class Channel {
public:
  static constexpr int kAnyTag = -1; ///< of a receive; replaced by the tag of the message that came
  Channel() { posts.reserve(64), sending.reserve(64); }
  void open(Socket connection) { socket = std::move(connection); }

  void send(Post &post) { sending.push_back(&post); }
  void receive(Post &post) { posts.push_back(&post); }
  void cancel(Post &post) { std::erase(posts, &post); }

  /// Sends and receives what is possible without blocking. Throws rt::RuntimeError if a message is not the
  /// one that was asked for.
  void advance() {
    advanceSends();
    advanceReceives();
  }
  bool isIdle() const { return sending.empty() && posts.empty(); }
  bool isSent() const { return sending.empty(); }
  /// Whether the connection was closed.
  bool hasEnded() const { return ended || (refused && posts.empty()); }

private:
  void advanceSends();
  void advanceReceives();

  Socket socket;
  /// The peer takes no more. What it sent before it closed the connection is still read: a rank that ends the
  /// job says so with its last message.
  bool refused = false;
  bool ended = false;                 ///< all that the peer sent has been read
  std::vector<Post *> sending, posts; ///< in order
  Head outgoing, incoming;
  size_t sent = 0, received = 0; ///< bytes of the first message in each list that are done, header included
};

} // namespace kedge::rt::tcp
