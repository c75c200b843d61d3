// One of the two connections to another rank: messages with a head, sent and received in order, never waiting.
#pragma once
#include "runtime/comm/tcp/Socket.h"
#include <vector>

namespace kedge::rt::tcp {

/// Before the bytes of a message.
struct Head {
  uint64_t count = 0;
  int32_t tag = 0;
  uint32_t magic = 0x6b656467;
};

/// A message that was asked for, or is to be sent.
struct Post {
  const char *from = nullptr;
  char *into = nullptr;
  size_t count = 0;
  int tag = 0;
  bool done = false;
};

class Channel {
public:
  static constexpr int kAnyTag = -1; ///< of a receive; the message's own when it is done
  Channel() { posts.reserve(64), sending.reserve(64); }
  void open(Socket connection) { socket = std::move(connection); }

  void send(Post &post) { sending.push_back(&post); }
  void receive(Post &post) { posts.push_back(&post); }
  void cancel(Post &post) { std::erase(posts, &post); }

  /// Moves what can be moved at once. Throws rt::Error when what comes is not what was asked for.
  void advance() {
    advanceSends();
    advanceReceives();
  }
  bool isIdle() const { return sending.empty() && posts.empty(); }
  bool isSent() const { return sending.empty(); }
  /// The connection has ended.
  bool hasEnded() const { return ended; }

private:
  void advanceSends();
  void advanceReceives();

  Socket socket;
  bool ended = false;
  std::vector<Post *> sending, posts; ///< in order
  Head outgoing, incoming;
  size_t sent = 0, received = 0; ///< of the head and bytes of the first of either
};

} // namespace kedge::rt::tcp
