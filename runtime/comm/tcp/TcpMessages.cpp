#include "runtime/comm/tcp/TcpMessages.h"
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

constexpr double kShortestMeeting = 60, kShortestFarewell = 20;
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
  TcpMessages(const World &world, std::vector<Connection> connections, const Rendezvous &rendezvous,
              double timeout)
      : world(world), rendezvous(rendezvous), timeout(timeout), connections(std::move(connections)),
        peers(static_cast<size_t>(world.size)) {}

  void start() override {
    if (connections.empty())
      connections = meet(world, rendezvous, std::max(timeout, kShortestMeeting));
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

  bool testAnyones(Request &request, Sender &sender) override {
    Post *post = static_cast<Post *>(request);
    advance();
    if (!post->done)
      return false;
    sender = {speaker, post->count};
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
    const double seconds = std::max(timeout, kShortestFarewell);
    const int64_t deadline = steadyNanoseconds() + static_cast<int64_t>(seconds * 1e9);
    while (std::any_of(peers.begin(), peers.end(), left)) {
      advance();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (steadyNanoseconds() > deadline)
        fail("rank {} did not come to the end of the job within {} s",
             std::find_if(peers.begin(), peers.end(), left) - peers.begin(), seconds);
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
    for (Peer &peer : peers)
      try {
        if (!peer.data.isIdle())
          peer.data.advance();
        if (!peer.control.isIdle())
          peer.control.advance();
        if (peer.mail.post.done)
          deliver(peer);
      } catch (const RuntimeError &error) {
        fail("rank {} sent what is no message for this one: {}", rankOf(peer), error.what());
      }
  }

  int64_t rankOf(const Peer &peer) const { return &peer - peers.data(); }

  void deliver(Peer &peer) {
    const Post &mail = peer.mail.post;
    if (mail.tag == kFarewellTag) {
      peer.saidFarewell = true;
    } else if (mail.tag != kControlTag) {
      fail("{} bytes of kind {} came where a heartbeat was expected", mail.count, mail.tag);
    } else if (!closing) {
      if (!listening)
        return; // it waits; nothing more is read of this rank
      listening->count = std::min(mail.count, listening->count);
      std::copy_n(mail.into, listening->count, listening->into);
      listening->done = true;
      speaker = rankOf(peer);
      listening = nullptr;
    }
    awaitMail(peer);
  }

  const World world;
  const Rendezvous rendezvous;
  const double timeout;                ///< in seconds
  std::vector<Connection> connections; ///< until the start
  std::vector<Peer> peers;
  std::vector<std::unique_ptr<Post>> made;
  std::vector<Post *> unused;
  bool closing = false;
  Post *listening = nullptr; ///< for a control message of anyone
  int64_t speaker = 0;       ///< whose it was
};

} // namespace

std::unique_ptr<messages::Messages> messagesOver(std::vector<Connection> connections, const World &world,
                                                 double timeoutSeconds) {
  return std::make_unique<TcpMessages>(world, std::move(connections), Rendezvous{}, timeoutSeconds);
}

} // namespace kedge::rt::tcp

std::unique_ptr<kedge::rt::Communicator>
kedge::rt::connectByTcp(const World &world, const Rendezvous &rendezvous, double timeoutSeconds) {
  return messages::communicateBy(
      std::make_unique<tcp::TcpMessages>(world, std::vector<tcp::Connection>(), rendezvous, timeoutSeconds),
      world, timeoutSeconds);
}
