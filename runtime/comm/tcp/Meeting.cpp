#include "runtime/comm/tcp/Meeting.h"
#include "runtime/comm/Communicator.h"
#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>
#include <thread>

namespace kedge::rt::tcp {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
/// How long a listener at a tried port may stay silent before it counts as not one of ours.
constexpr int64_t kAnswer = 2'000 * kMillisecond;

uint64_t hashOfJob(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

/// The first words of a connection, of both sides.
struct Hello {
  char magic[8] = {'k', 'e', 'd', 'g', 'e', ' ', '2', 0};
  uint64_t job = 0;
  int32_t rank = 0, channel = 0; ///< channel: 0 control, 1 data
  int64_t port = 0;              ///< where the rank listens
  int64_t wanted = 0;            ///< the rank that this one looks for
};

/// Where a rank listens, as others reach it.
struct Address {
  char host[64] = ""; ///< empty: on the machine of rank 0
  int64_t port = 0;
};

class Meeting {
public:
  Meeting(const World &world, const Rendezvous &rendezvous, double seconds)
      : world(world), rendezvous(rendezvous), seconds(seconds), job(hashOfJob(rendezvous.job)),
        deadline(steadyNanoseconds() + static_cast<int64_t>(seconds * 1e9)),
        peers(static_cast<size_t>(world.size)), addresses(static_cast<size_t>(world.size)) {}

  std::vector<Connection> run() {
    if (world.isFirst())
      host();
    else
      visit();
    return std::move(peers);
  }

private:
  static Socket &channelOf(Connection &peer, int32_t channel) {
    return channel == 0 ? peer.control : peer.data;
  }

  bool isOurs(const Hello &hello) const {
    return std::memcmp(hello.magic, Hello().magic, sizeof(hello.magic)) == 0 && hello.job == job &&
           hello.rank >= 0 && hello.rank < world.size && (hello.channel == 0 || hello.channel == 1);
  }

  Hello own(int32_t channel, int64_t wanted) const {
    Hello hello;
    hello.wanted = wanted;
    hello.job = job;
    hello.rank = static_cast<int32_t>(world.rank);
    hello.channel = channel;
    hello.port = listening.isOpen() ? portOf(listening) : 0;
    return hello;
  }

  void listenAtPlace() {
    for (int64_t port = rendezvous.port + (rendezvous.isTaken ? 1 : 0);
         port <= rendezvous.port + kPorts && !listening.isOpen(); ++port)
      listening = listenAt(port);
    if (!listening.isOpen())
      fail("rank 0 cannot listen at a port from {} (MASTER_PORT) to {}: all are taken", rendezvous.port,
           rendezvous.port + kPorts);
  }

  /// Connections of `count` other ranks, of both channels.
  void acceptAll(int64_t count, bool answers) {
    for (int64_t missing = 2 * count; missing > 0;) {
      std::string from;
      Socket socket = acceptFrom(listening, deadline, &from);
      if (!socket.isOpen())
        fail("rank {} waited {} s for {} of {}: {}", world.rank, seconds, missingRanks(), world.size,
             "start as many processes as WORLD_SIZE says, and let the ranks' machines reach each other");
      Hello hello;
      if (!socket.receiveAll(&hello, sizeof(hello), std::min(deadline, steadyNanoseconds() + kAnswer)) ||
          !isOurs(hello) || hello.wanted != world.rank)
        continue; // somebody else's, or who looks for rank 0 at all ports and found this one, even its own
      Connection &peer = peers[static_cast<size_t>(hello.rank)];
      if (hello.rank == world.rank || channelOf(peer, hello.channel).isOpen())
        fail("two processes say that they are rank {} of {} (RANK): each has its own", hello.rank,
             world.size);
      const Hello answer = own(hello.channel, hello.rank);
      if (answers && !socket.sendAll(&answer, sizeof(answer), deadline))
        continue;
      noteAddress(hello, from);
      channelOf(peer, hello.channel) = std::move(socket);
      --missing;
    }
  }

  std::string missingRanks() const {
    std::vector<int64_t> missing;
    for (int64_t rank = world.isFirst() ? 1 : world.rank + 1; rank < world.size; ++rank)
      if (const Connection &peer = peers[static_cast<size_t>(rank)];
          !peer.control.isOpen() || !peer.data.isOpen())
        missing.push_back(rank);
    return fmt::format("rank{} {}", missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
  }

  void noteAddress(const Hello &hello, const std::string &from) {
    Address &address = addresses[static_cast<size_t>(hello.rank)];
    address.port = hello.port;
    const bool isHere = from.starts_with("127.") || from.starts_with("::ffff:127.") || from == "::1";
    if (!isHere)
      std::strncpy(address.host, from.c_str(), sizeof(address.host) - 1);
  }

  void host() {
    listenAtPlace();
    acceptAll(world.size - 1, true);
    for (int64_t rank = 1; rank < world.size; ++rank)
      if (!peers[static_cast<size_t>(rank)].control.sendAll(addresses.data(),
                                                            addresses.size() * sizeof(Address), deadline))
        fail("rank {} left while ranks met", rank);
  }

  /// Rank 0's port is one of several: the one that answers with the right words.
  Socket findFirst(int32_t channel, int64_t &port) {
    std::string reason = "nobody answers";
    const int64_t begin = port ? port : rendezvous.port + (rendezvous.isTaken ? 1 : 0),
                  end = port ? port : rendezvous.port + kPorts;
    while (steadyNanoseconds() < deadline) {
      for (int64_t tried = begin; tried <= end; ++tried) {
        Socket socket =
            connectTo(rendezvous.host, tried, std::min(deadline, steadyNanoseconds() + kAnswer), &reason);
        const Hello hello = own(channel, 0);
        Hello answer;
        const int64_t until = std::min(deadline, steadyNanoseconds() + kAnswer);
        if (socket.isOpen() && socket.sendAll(&hello, sizeof(hello), until) &&
            socket.receiveAll(&answer, sizeof(answer), until) && isOurs(answer) && answer.rank == 0) {
          port = tried;
          return socket;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    fail("rank {} did not reach rank 0 at {}, port {} (MASTER_ADDR, MASTER_PORT) or up to {} after it, "
         "within {} s: {}",
         world.rank, rendezvous.host, rendezvous.port, kPorts, seconds, reason);
  }

  void visit() {
    listening = listenAt(0);
    if (!listening.isOpen())
      fail("rank {} cannot listen: {}", world.rank, std::strerror(errno));
    int64_t port = 0;
    peers[0].control = findFirst(0, port);
    peers[0].data = findFirst(1, port);
    if (!peers[0].control.receiveAll(addresses.data(), addresses.size() * sizeof(Address), deadline))
      fail("rank {} reached rank 0, which did not say within {} s where the others are: some ranks have not "
           "come",
           world.rank, seconds);
    for (int64_t rank = 1; rank < world.rank; ++rank)
      for (int32_t channel : {0, 1})
        channelOf(peers[static_cast<size_t>(rank)], channel) = connectToRank(rank, channel);
    acceptAll(world.size - 1 - world.rank, false);
  }

  Socket connectToRank(int64_t rank, int32_t channel) {
    const Address &address = addresses[static_cast<size_t>(rank)];
    const std::string host = address.host[0] ? address.host : rendezvous.host;
    std::string reason = "it does not answer";
    Socket socket = connectTo(host, address.port, deadline, &reason);
    const Hello hello = own(channel, rank);
    if (!socket.isOpen() || !socket.sendAll(&hello, sizeof(hello), deadline))
      fail("rank {} did not reach rank {} at {}, port {}: {}", world.rank, rank, host, address.port, reason);
    return socket;
  }

  const World world;
  const Rendezvous rendezvous;
  const double seconds;
  const uint64_t job;
  const int64_t deadline;
  Socket listening;
  std::vector<Connection> peers;
  std::vector<Address> addresses;
};

} // namespace

std::vector<Connection> meet(const World &world, const Rendezvous &rendezvous, double seconds) {
  return Meeting(world, rendezvous, seconds).run();
}

} // namespace kedge::rt::tcp
