#include "runtime/comm/tcp/Meeting.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/tcp/Greeting.h"
#include "runtime/comm/tcp/Place.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/ranges.h>
#include <poll.h>
#include <thread>

namespace kedge::rt::tcp {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
/// How long a listener at a tried port may stay silent before the next is tried.
constexpr int64_t kAnswer = 2'000 * kMillisecond;
/// How long a connection may take to say who it is. Those of ranks take milliseconds.
constexpr int64_t kHello = 10'000 * kMillisecond;
/// Rank 0 knows who has not come: the others wait until it has said so.
constexpr int64_t kFirstSpeaks = 1'000 * kMillisecond;
/// Connections that have not said who they are; the oldest goes for a new one.
constexpr size_t kMostVisitors = 1024;

uint64_t hashOfJob(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

/// A rank that was met, and what it said.
struct Met {
  std::array<uint64_t, 2> process{};
  std::string from;
  int32_t port = 0;
};

class Meeting {
public:
  Meeting(const World &world, const Rendezvous &rendezvous, double seconds)
      : world(world), rendezvous(rendezvous), seconds(seconds), secret(secretOfJob()),
        deadline(steadyNanoseconds() + static_cast<int64_t>(seconds * 1e9)),
        peers(static_cast<size_t>(world.size)), met(static_cast<size_t>(world.size)) {
    self.job = hashOfJob(rendezvous.job);
    self.process = drawProcess();
    self.rank = static_cast<int32_t>(world.rank);
    self.size = static_cast<int32_t>(world.size);
    self.place = static_cast<int32_t>(rendezvous.port);
  }

  std::vector<Connection> run() {
    if (world.isFirst())
      host();
    else
      visitAll();
    return std::move(peers);
  }

private:
  static Socket &channelOf(Connection &peer, int32_t channel) {
    return channel == 0 ? peer.control : peer.data;
  }

  Hello own(int32_t channel, int64_t wanted) const {
    Hello hello = self;
    hello.channel = channel;
    hello.wanted = static_cast<int32_t>(wanted);
    return hello;
  }

  void host() {
    listening = listenAsFirst(rendezvous, secret.isGiven());
    self.port = static_cast<int32_t>(portOf(listening));
    acceptAll(1);
    const std::vector<Address> addresses = addressesOfAll();
    for (int64_t rank = 1; rank < world.size; ++rank)
      if (!peers[static_cast<size_t>(rank)].control.sendAll(addresses.data(),
                                                            addresses.size() * sizeof(Address), deadline))
        fail("rank 0 lost rank {} while the ranks met", rank);
  }

  std::vector<Address> addressesOfAll() const {
    std::vector<Address> addresses(peers.size());
    for (size_t rank = 1; rank < peers.size(); ++rank) {
      addresses[rank].port = met[rank].port;
      if (const std::string &from = met[rank].from; !isLoopback(from))
        std::strncpy(addresses[rank].host, from.c_str(), sizeof(addresses[rank].host) - 1);
    }
    return addresses;
  }

  bool isMissing(int64_t rank) const {
    const Connection &peer = peers[static_cast<size_t>(rank)];
    return !peer.control.isOpen() || !peer.data.isOpen();
  }

  std::vector<int64_t> missingRanks(int64_t first) const {
    std::vector<int64_t> missing;
    for (int64_t rank = first; rank < world.size; ++rank)
      if (rank != world.rank && isMissing(rank))
        missing.push_back(rank);
    return missing;
  }

  static std::string textOf(const std::vector<int64_t> &ranks) {
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
  }

  /// Both channels of the ranks from `first` on. All connections are listened to at once: one that is silent
  /// keeps nobody waiting.
  void acceptAll(int64_t first) {
    std::vector<Visitor> visitors;
    for (;;) {
      const std::vector<int64_t> missing = missingRanks(first);
      if (missing.empty())
        return;
      const int64_t now = steadyNanoseconds();
      if (now >= deadline)
        fail("rank {} waited {} s for {} of {}: start as many processes as WORLD_SIZE says, and let the "
             "ranks' machines reach each other{}",
             world.rank, seconds, textOf(missing), world.size, hint);
      await(visitors, std::min(deadline, now + 1'000 * kMillisecond));
      noticeLost();
      takeNew(visitors);
      hear(visitors);
    }
  }

  /// Returns when there is something to read or a rank has gone, or after a second.
  void await(const std::vector<Visitor> &visitors, int64_t until) {
    polled.assign(1, {listening.number(), POLLIN, 0});
    for (const Visitor &visitor : visitors)
      polled.push_back({visitor.number(), POLLIN, 0});
    for (const Connection &peer : peers)
      for (const Socket *socket : {&peer.control, &peer.data})
        if (socket->isOpen())
          polled.push_back({socket->number(), POLLRDHUP, 0});
    const int64_t left = (until - steadyNanoseconds()) / kMillisecond + 1;
    if (poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(left, 1))) < 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  /// A rank that was let in stays.
  void noticeLost() const {
    for (int64_t rank = 0; rank < world.size; ++rank) {
      const Connection &peer = peers[static_cast<size_t>(rank)];
      if ((peer.control.isOpen() && peer.control.isClosed()) || (peer.data.isOpen() && peer.data.isClosed()))
        failLost(rank);
    }
  }

  [[noreturn]] void failLost(int64_t rank) const {
    fail("rank {} is gone: its connection has ended; rank {} was waiting for {} of {} ranks", rank,
         world.rank, textOf(missingRanks(1)), world.size);
  }

  void takeNew(std::vector<Visitor> &visitors) {
    for (size_t taken = 0; taken < kMostVisitors; ++taken) {
      std::string from;
      Socket socket = acceptFrom(listening, 0, &from);
      if (!socket.isOpen()) {
        if (errno == EMFILE || errno == ENFILE)
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return;
      }
      if (visitors.size() >= kMostVisitors)
        visitors.erase(visitors.begin());
      visitors.emplace_back(std::move(socket), std::move(from), own(0, 0), steadyNanoseconds() + kHello);
    }
  }

  void hear(std::vector<Visitor> &visitors) {
    for (size_t at = 0; at < visitors.size();) {
      Visitor &visitor = visitors[at];
      const Visitor::State state = visitor.advance(secret); // what has come is read before it is late
      if (state == Visitor::State::Proven)
        letIn(visitor);
      if (visitor.wasOfOtherSize())
        hint = "; a process came that was started with another WORLD_SIZE";
      if (state != Visitor::State::Waiting || visitor.isLate(steadyNanoseconds()))
        visitors.erase(visitors.begin() + static_cast<std::ptrdiff_t>(at));
      else
        ++at;
    }
  }

  /// A second try of the same process takes the place of its first.
  void letIn(Visitor &visitor) {
    const Hello hello = visitor.hello();
    Met &known = met[static_cast<size_t>(hello.rank)];
    Connection &peer = peers[static_cast<size_t>(hello.rank)];
    const bool isKnown = peer.control.isOpen() || peer.data.isOpen();
    if (hello.rank < world.rank)
      return; // those are visited
    if (isKnown && known.process != hello.process) {
      visitor.dismiss(GreetingVerdict::TwoProcesses);
      fail("two processes say that they are rank {} of {} (RANK): each has its own", hello.rank, world.size);
    }
    known = {hello.process, visitor.host(), hello.port};
    channelOf(peer, hello.channel) = visitor.dismiss(GreetingVerdict::Welcome);
  }

  // The side of the other ranks.

  void visitAll() {
    int64_t port = 0;
    peers[0].control = findFirst(0, port);
    peers[0].data = findFirst(1, port);
    std::vector<Address> addresses(peers.size());
    if (!peers[0].control.receiveAll(addresses.data(), addresses.size() * sizeof(Address),
                                     deadline + kFirstSpeaks))
      failUnmet();
    for (int64_t rank = 1; rank < world.rank; ++rank) {
      const auto [host, at] = placeOf(addresses[static_cast<size_t>(rank)], rank);
      for (int32_t channel : {0, 1})
        channelOf(peers[static_cast<size_t>(rank)], channel) = connectToRank(rank, channel, host, at);
    }
    acceptAll(world.rank + 1);
  }

  [[noreturn]] void failUnmet() const {
    const bool hasEnded = peers[0].control.isClosed();
    fail("rank {} reached rank 0, which {}did not say within {} s where the others are: some ranks have not "
         "come",
         world.rank, hasEnded ? "has ended and " : "", seconds);
  }

  std::pair<std::string, int64_t> placeOf(const Address &address, int64_t rank) const {
    const std::optional<std::string> host = hostIn(address);
    if (!host)
      fail("rank 0 told rank {} no address of rank {}, but other words: is it the same program?", world.rank,
           rank);
    return {host->empty() ? hostOfFirst(rendezvous) : *host, address.port};
  }

  /// Rank 0's port is one of several: the one that answers with the right words.
  Socket findFirst(int32_t channel, int64_t &port) {
    std::string reason = "nobody answers";
    const std::string host = hostOfFirst(rendezvous);
    const int64_t begin = port ? port : rendezvous.port + (rendezvous.isTaken ? 1 : 0),
                  end = port ? port : rendezvous.port + kPorts;
    while (steadyNanoseconds() < deadline) {
      for (int64_t tried = begin; tried <= end; ++tried)
        if (Socket socket = tryFirst(host, tried, channel, reason); socket.isOpen()) {
          port = tried;
          return socket;
        }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    failUnreached(reason);
  }

  [[noreturn]] void failUnreached(const std::string &reason) const {
    fail("rank {} did not reach rank 0 at {}, port {} (MASTER_ADDR, MASTER_PORT) or up to {} after it, "
         "within {} s: {}",
         world.rank, rendezvous.host, rendezvous.port, kPorts, seconds, reason);
  }

  Socket tryFirst(const std::string &host, int64_t port, int32_t channel, std::string &reason) {
    const auto soon = [&] { return std::min(deadline, steadyNanoseconds() + kAnswer); };
    Socket socket = connectTo(host, port, soon(), &reason);
    if (!socket.isOpen())
      return Socket();
    if (!listening.isOpen()) {
      listening = listenAsOther(rendezvous, socket, secret.isGiven());
      if (!listening.isOpen())
        fail("rank {} cannot listen: {}", world.rank, std::strerror(errno));
      self.port = static_cast<int32_t>(portOf(listening));
    }
    const Visit visited = visit(socket, own(channel, 0), secret, soon(), deadline);
    if (visited == Visit::Welcome)
      return socket;
    if (visited == Visit::Stranger || visited == Visit::Silent) {
      if (!peers[0].control.isOpen())
        listening = Socket(); // the next may be reached from another address
      return Socket();
    }
    failRefused(visited, 0, fmt::format("{}, port {}", host, port));
  }

  /// What will not change however often it is tried.
  [[noreturn]] void failRefused(Visit visited, int64_t rank, const std::string &place) const {
    const char *why =
        visited == Visit::OtherJob      ? "ranks of another job, or of another start of it, meet there "
                                          "(TORCHELASTIC_RUN_ID, TORCHELASTIC_RESTART_COUNT)"
        : visited == Visit::OtherSize   ? "it was started with another number of ranks (WORLD_SIZE)"
        : visited == Visit::OtherSecret ? "it has another secret, or one of both has none (KEDGE_JOB_SECRET)"
                                        : "it has met another process that says that it is this rank (RANK)";
    fail("rank {} of {} did not reach rank {} at {}: {}", world.rank, world.size, rank, place, why);
  }

  Socket connectToRank(int64_t rank, int32_t channel, const std::string &host, int64_t port) {
    std::string reason = "it does not answer";
    const std::string place = fmt::format("{}, port {}", host, port);
    while (steadyNanoseconds() < deadline) {
      Socket socket = connectTo(host, port, deadline, &reason);
      if (!socket.isOpen())
        break;
      const Visit visited = visit(socket, own(channel, rank), secret, deadline, deadline);
      if (visited == Visit::Welcome)
        return socket;
      if (visited != Visit::Silent && visited != Visit::Stranger)
        failRefused(visited, rank, place);
      if (peers[0].control.isClosed())
        failLost(0);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    fail("rank {} did not reach rank {} at {}: {}", world.rank, rank, place, reason);
  }

  const World world;
  const Rendezvous rendezvous;
  const double seconds;
  const Secret secret;
  const int64_t deadline;
  Hello self;
  Socket listening;
  std::vector<Connection> peers;
  std::vector<Met> met; ///< by rank
  std::vector<pollfd> polled;
  std::string hint;
};

} // namespace

std::vector<Connection> meet(const World &world, const Rendezvous &rendezvous, double seconds) {
  return Meeting(world, rendezvous, seconds).run();
}

} // namespace kedge::rt::tcp
