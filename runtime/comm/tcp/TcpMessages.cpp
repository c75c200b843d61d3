#include "runtime/comm/messages/MessageCommunicator.h"
#include "runtime/comm/tcp/Channel.h"
#include "runtime/comm/tcp/Connect.h"
#include "runtime/comm/tcp/Meeting.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

namespace kedge::rt::tcp {
namespace {

using messages::kControlTag;
using messages::Request;

constexpr double kShortestMeeting = 60;
/// Of control messages: the last that a rank sends.
constexpr int kFarewellTag = 2;
constexpr size_t kControlBytes = 4096;

/// What has come on a rank's control channel and was not asked for yet.
struct Mail {
  std::array<char, kControlBytes> bytes;
  Post post;
};

class TcpMessages final : public messages::Messages {
public:
  TcpMessages(const World &world, const Rendezvous &rendezvous, double seconds)
      : world(world), rendezvous(rendezvous), seconds(seconds), peers(static_cast<size_t>(world.size)) {}

  void start() override {
    std::vector<Connection> connections = meet(world, rendezvous, seconds);
    for (size_t rank = 0; rank < peers.size(); ++rank) {
      peers[rank].control.open(std::move(connections[rank].control));
      peers[rank].data.open(std::move(connections[rank].data));
      if (static_cast<int64_t>(rank) != world.rank)
        awaitMail(peers[rank]);
    }
    for (int i = 0; i < 256; ++i) // more than are under way; a step allocates nothing
      unused.push_back(made.emplace_back(std::make_unique<Post>()).get());
  }

  Request send(int64_t to, int tag, const void *bytes, size_t count) override {
    Post *post = take();
    *post = {static_cast<const char *>(bytes), nullptr, count, tag, false};
    channelTo(to, tag).send(*post);
    return post;
  }

  Request receive(int64_t from, int tag, void *bytes, size_t count) override {
    Post *post = take();
    *post = {nullptr, static_cast<char *>(bytes), count, tag, false};
    if (from == kAnyone)
      listening = post;
    else
      channelTo(from, tag).receive(*post);
    return post;
  }

  bool test(Request &request) override {
    if (!request)
      return true;
    advance();
    return isTaken(request);
  }

  bool testAll(Request *requests, size_t count) override {
    advance();
    for (size_t i = 0; i < count; ++i)
      if (!static_cast<Post *>(requests[i])->done)
        return false;
    for (size_t i = 0; i < count; ++i)
      isTaken(requests[i]);
    return true;
  }

  void cancel(Request &request) override {
    listening = nullptr;
    unused.push_back(static_cast<Post *>(request));
    request = nullptr;
  }

  bool isOneQueue() const override { return true; }

  bool isLost(int64_t rank) const override {
    const Peer &peer = peers[static_cast<size_t>(rank)];
    const bool isHeard = !peer.mail.post.done; // else its last words lie here and are read first
    return (peer.control.hasEnded() || peer.data.hasEnded()) && isHeard && !peer.saidFarewell;
  }

  /// Every rank sends a farewell and waits for those of all others, so that none takes an orderly end for a
  /// lost rank.
  void finish() override {
    closing = true; // heartbeats are heard no more
    for (size_t rank = 0; rank < peers.size(); ++rank)
      if (static_cast<int64_t>(rank) != world.rank)
        send(static_cast<int64_t>(rank), kFarewellTag, nullptr, 0);
    const auto left = [&](const Peer &peer) {
      return &peer != &peers[static_cast<size_t>(world.rank)] &&
             !(peer.saidFarewell && peer.control.isSent()) && !peer.control.hasEnded();
    };
    while (std::any_of(peers.begin(), peers.end(), left)) {
      advance();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

private:
  struct Peer {
    Channel control, data;
    Mail mail;
    bool saidFarewell = false;
  };

  Post *take() {
    if (unused.empty())
      unused.push_back(made.emplace_back(std::make_unique<Post>()).get());
    Post *post = unused.back();
    unused.pop_back();
    return post;
  }

  bool isTaken(Request &request) {
    Post *post = static_cast<Post *>(request);
    if (!post->done)
      return false;
    unused.push_back(post);
    request = nullptr;
    return true;
  }

  Channel &channelTo(int64_t rank, int tag) {
    Peer &peer = peers[static_cast<size_t>(rank)];
    return tag == kControlTag || tag == kFarewellTag ? peer.control : peer.data;
  }

  static void awaitMail(Peer &peer) {
    peer.mail.post = {nullptr, peer.mail.bytes.data(), peer.mail.bytes.size(), Channel::kAnyTag, false};
    peer.control.receive(peer.mail.post);
  }

  void advance() {
    for (Peer &peer : peers) {
      if (!peer.data.isIdle())
        peer.data.advance();
      if (!peer.control.isIdle())
        peer.control.advance();
      if (peer.mail.post.done)
        deliver(peer);
    }
  }

  void deliver(Peer &peer) {
    const Post &mail = peer.mail.post;
    if (mail.tag == kFarewellTag) {
      peer.saidFarewell = true;
    } else if (!closing) {
      if (!listening)
        return; // it waits; nothing more is read of this rank
      std::copy_n(mail.into, std::min(mail.count, listening->count), listening->into);
      listening->done = true;
      listening = nullptr;
    }
    awaitMail(peer);
  }

  const World world;
  const Rendezvous rendezvous;
  const double seconds;
  std::vector<Peer> peers;
  std::vector<std::unique_ptr<Post>> made;
  std::vector<Post *> unused;
  bool closing = false;
  Post *listening = nullptr; ///< for a control message of anyone
};

} // namespace
} // namespace kedge::rt::tcp

std::unique_ptr<kedge::rt::Communicator>
kedge::rt::connectByTcp(const World &world, const Rendezvous &rendezvous, double timeoutSeconds) {
  const double seconds = std::max(timeoutSeconds, tcp::kShortestMeeting);
  return messages::communicateBy(std::make_unique<tcp::TcpMessages>(world, rendezvous, seconds), world,
                                 timeoutSeconds);
}
