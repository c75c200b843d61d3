// Whole conversations of ranks over sockets: the hellos of both roles, with right and wrong proofs, the table
// of addresses, and messages of ranks that have met. Whatever comes, nobody crashes or hangs, no stranger is
// let in, and what is printed is clean.
#include "runtime/comm/Communicator.h"
#include "runtime/comm/messages/Watch.h"
#include "runtime/comm/tcp/Greeting.h"
#include "runtime/comm/tcp/TcpMessages.h"
#include "runtime/io/Printable.h"
#include "runtime/io/Say.h"
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>

using namespace kedge::rt;
using namespace kedge::rt::tcp;

namespace {

const Secret kSecret("what the ranks of this job know");
constexpr int64_t kSoon = 200'000'000; // nobody waits for what does not come

/// The input, read from its front; zeros behind its end.
class Words {
public:
  Words(const uint8_t *data, size_t size) : data(data), left(size) {}

  uint8_t byte() {
    if (left == 0)
      return 0;
    --left;
    return *data++;
  }
  std::string rest(size_t most = 4096) {
    const size_t count = std::min(left, most);
    std::string text(reinterpret_cast<const char *>(data), count);
    data += count;
    left -= count;
    return text;
  }
  /// Overwrites a few bytes: pairs of a place and a value, after their number.
  template <typename Value> void edit(Value &value) {
    for (size_t count = byte() % 8; count > 0; --count) {
      const size_t at = byte() % sizeof(Value);
      reinterpret_cast<uint8_t *>(&value)[at] = byte();
    }
  }
  bool isEmpty() const { return left == 0; }

private:
  const uint8_t *data;
  size_t left;
};

struct Pair {
  Socket own, other;
  Pair() {
    int files[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, files) != 0)
      throw std::runtime_error("no sockets");
    own = Socket(files[0]);
    other = Socket(files[1]);
  }
};

int64_t soon() { return steadyNanoseconds() + kSoon; }

Hello helloOf(int32_t rank, int32_t wanted, uint64_t process) {
  Hello hello;
  hello.job = 11;
  hello.process = {process, process};
  hello.rank = rank;
  hello.size = 3;
  hello.wanted = wanted;
  hello.place = 29500;
  hello.port = 4000;
  return hello;
}

void require(bool holds, const char *what) {
  if (!holds)
    throw std::logic_error(what);
}

/// The proof of Greeting.cpp, made by who does or does not know the secret.
Digest proofOf(char side, const Hello &visitor, const Hello &host, bool knows) {
  std::string text(1, side);
  text.append(reinterpret_cast<const char *>(&visitor), sizeof(visitor));
  text.append(reinterpret_cast<const char *>(&host), sizeof(host));
  return (knows ? kSecret : Secret("of another job"))
      .sign({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

bool isTrue(const Hello &own, const Hello &other) {
  return isSameJob(own, other) && other.size == 3 && other.rank >= 0 && other.rank < 3 &&
         other.rank != own.rank && (other.channel == 0 || other.channel == 1);
}

/// This side is the host.
void host(Words words) {
  Pair pair;
  const bool knows = words.byte() % 2 == 0;
  Hello hello = helloOf(1, 0, 5);
  words.edit(hello);
  const std::string raw = words.rest(words.byte());
  pair.other.sendAll(&hello, sizeof(hello) - (raw.empty() ? 0 : raw.size() % sizeof(hello)), soon());
  pair.other.sendAll(raw.data(), raw.size(), soon());
  Visitor visitor(std::move(pair.own), "127.0.0.1", helloOf(0, 0, 9), soon());
  Visitor::State state = visitor.advance(kSecret);
  Answer answer;
  if (raw.empty() && state == Visitor::State::Waiting &&
      pair.other.receiveAll(&answer, sizeof(answer), soon())) {
    Digest proof = proofOf('v', hello, answer.hello, knows);
    words.edit(proof);
    pair.other.sendAll(&proof, sizeof(proof), soon());
    state = visitor.advance(kSecret);
    const bool isRight = proof == proofOf('v', hello, answer.hello, true);
    require(state == (isRight ? Visitor::State::Proven : Visitor::State::Refused),
            "a right proof is refused, or a wrong one taken");
  } else {
    require(state != Visitor::State::Proven, "a visitor without a proof is let in");
  }
  if (state == Visitor::State::Proven)
    require(isTrue(helloOf(0, 0, 9), visitor.hello()), "a visitor with impossible numbers is let in");
}

/// This side is the visitor.
void visitor(Words words) {
  Pair pair;
  const bool knows = words.byte() % 2 == 0;
  Hello heard;
  Answer answer;
  std::thread host([&] {
    if (!pair.other.receiveAll(&heard, sizeof(heard), soon()))
      return;
    answer.hello = helloOf(0, 1, 9);
    words.edit(answer.hello);
    answer.proof = proofOf('h', heard, answer.hello, knows);
    words.edit(answer.proof);
    pair.other.sendAll(&answer, sizeof(answer), soon());
    Digest proof;
    const GreetingVerdict verdict = static_cast<GreetingVerdict>(words.byte() % 4);
    const std::string more = words.rest();
    if (pair.other.receiveAll(&proof, sizeof(proof), soon()))
      pair.other.sendAll(more.empty() ? reinterpret_cast<const char *>(&verdict) : more.data(),
                         more.empty() ? sizeof(verdict) : more.size(), soon());
    pair.other = Socket();
  });
  Visit visited = Visit::Silent;
  Hello met;
  visited = visit(pair.own, helloOf(1, 0, 5), kSecret, soon(), soon(), &met);
  pair.own = Socket();
  host.join();
  if (visited == Visit::Welcome)
    require(answer.proof == proofOf('h', heard, answer.hello, true) && isTrue(helloOf(1, 0, 5), met) &&
                met.rank == 0,
            "a stranger is taken for rank 0");
}

void table(Words words) {
  Address address;
  std::string("127.0.0.1").copy(address.host, sizeof(address.host));
  address.port = 4000;
  words.edit(address);
  if (const auto found = hostIn(address))
    require(found->size() < sizeof(address.host) && address.port > 0 && address.port < 65536 &&
                (found->empty() || isAddress(*found)),
            "an address that is none is taken");
}

/// Bytes of a message as a rank sends it; the input edits head and content.
std::string messageOf(Words &words) {
  struct Head {
    uint64_t count;
    int32_t tag;
    uint32_t magic;
  } head{0, words.byte() % 4 == 3 ? words.byte() : 1, 0x6b656467};
  messages::Control control;
  control.kind = static_cast<messages::Control::Kind>(words.byte() % 6);
  const std::string text = words.rest(words.byte() * 8);
  text.copy(control.text, sizeof(control.text));
  std::string content(reinterpret_cast<const char *>(&control),
                      std::min(offsetof(messages::Control, text) + text.size() + 1, sizeof(control)));
  content.resize(content.size() - std::min<size_t>(words.byte() % 16, content.size()));
  head.count = content.size();
  words.edit(head);
  return std::string(reinterpret_cast<const char *>(&head), sizeof(head)) + content;
}

/// Rank 1 of three hears what two others say.
void listen(Words words) {
  std::vector<Connection> connections(3);
  std::vector<Socket> others;
  for (const size_t rank : {0, 2})
    for (Socket *socket : {&connections[rank].control, &connections[rank].data}) {
      Pair pair;
      *socket = std::move(pair.own);
      others.push_back(std::move(pair.other));
    }
  while (!words.isEmpty()) {
    const uint8_t which = words.byte();
    const std::string message = which & 8 ? words.rest(words.byte()) : messageOf(words);
    (void)others[which % 4].sendSome(message.data(), message.size());
    if (which & 16)
      others[which % 4] = Socket();
  }
  std::string said;
  {
    const Listener listener(said);
    try {
      const auto transport = messagesOver(std::move(connections), {1, 3}, 600);
      transport->start();
      messages::Watch watch(*transport, {1, 3}, 600);
      watch.begin();
      char wanted[64];
      messages::Request request = transport->receive(0, 20, wanted, sizeof(wanted));
      for (int i = 0; i < 40 && !watch.hasStopped(); ++i) {
        watch.tick([] { return "a collective"; });
        transport->testAll(&request, request ? 1 : 0);
      }
    } catch (const RuntimeError &error) {
      said += error.what();
    }
  }
  require(said == printable(said), "what is printed is not clean");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Words words(data, size);
  switch (words.byte() % 5) {
  case 0:
    host(words);
    break;
  case 1:
    visitor(words);
    break;
  case 2:
    table(words);
    break;
  default:
    listen(words);
  }
  return 0;
}

std::vector<std::vector<uint8_t>> fuzzSeeds() {
  std::vector<std::vector<uint8_t>> seeds;
  for (uint8_t side : {0, 1})
    for (uint8_t knows : {0, 1}) {
      seeds.push_back({side, knows, 0, 0, 0, 1});
      for (uint8_t at = 0; at < sizeof(Hello); at += 4)
        seeds.push_back({side, knows, 2, at, 255, static_cast<uint8_t>(at + 3), 127, 0, 0, 1});
    }
  for (uint8_t at = 0; at < sizeof(Address); at += 3)
    seeds.push_back({2, 2, at, 'a', static_cast<uint8_t>(at + 1), 0});
  for (uint8_t kind = 0; kind < 5; ++kind)
    for (uint8_t peer = 0; peer < 4; ++peer)
      seeds.push_back(
          {3, peer, 0, kind, 1, 'a', 27, '[', '3', '1', 'm', 155, 10, 0, 0, 16, peer, 0, 0, 0, 0});
  return seeds;
}
