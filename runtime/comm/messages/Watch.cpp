#include "runtime/comm/messages/Watch.h"
#include "runtime/comm/Communicator.h"
#include "runtime/exec/Yielder.h"
#include "runtime/io/Error.h"
#include "runtime/io/LastCheckpoint.h"
#include "runtime/io/Printable.h"
#include "runtime/io/Say.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <limits>
#include <unistd.h>

namespace kedge::rt::messages {
namespace {

constexpr int64_t kMillisecond = 1'000'000, kSecond = 1'000 * kMillisecond;
constexpr int64_t kLookEvery = 100 * kMillisecond;
/// If all ranks find the same error, each finds it at its own time: rank 0 has this long to report it as its
/// own.
constexpr int64_t kOwnWords = kSecond / 2;
/// The loss of a rank is reported with the collective that waits for it: a rank that computes has this long
/// to reach one.
constexpr int64_t kNextCollective = kSecond;
/// How long a rank waits for another to speak for it: a machine with more ranks than cores may give that one
/// no time for a second. If the other is lost meanwhile, it does not wait so long.
constexpr int64_t kPatience = 5 * kSecond;

uint64_t hashOf(const char *text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (; *text; ++text)
    hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3ull;
  return hash;
}

} // namespace

Watch::Watch(Messages &transport, const World &world, double timeoutSeconds)
    : transport(transport), world(world), timeout(static_cast<int64_t>(timeoutSeconds * 1e9)),
      beatEvery(std::clamp(timeout / 10, 10 * kMillisecond, kSecond)), peers(static_cast<size_t>(world.size)),
      known(static_cast<size_t>(world.size), 0) {}

Watch::ProcessIdentity Watch::ownIdentity() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return {hashOf(name), getpid()};
}

int64_t Watch::interval() const { return std::min(beatEvery, kLookEvery); }

void Watch::begin() {
  lastTick = steadyNanoseconds();
  for (Peer &peer : peers)
    peer.heard = lastTick;
}

void Watch::identify(const std::vector<ProcessIdentity> &identities) {
  const ProcessIdentity own = ownIdentity();
  const std::lock_guard lock(mutex);
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    const auto [host, process] = identities[rank];
    // In another container a process has another number here, or none. Other numbers than those of a process
    // mean groups of them.
    const bool visible = host == own.host && process > 0 && process <= std::numeric_limits<pid_t>::max() &&
                         kill(static_cast<pid_t>(process), 0) == 0;
    known[rank] = visible && static_cast<int64_t>(rank) != world.rank ? process : 0;
  }
}

std::vector<int64_t> Watch::processes() const {
  const std::lock_guard lock(mutex);
  return known;
}

int64_t Watch::processOf(int64_t rank) {
  const std::lock_guard lock(mutex);
  return known[static_cast<size_t>(rank)];
}

bool Watch::isTested(Request &request) const { return transport.test(request); }

void Watch::tick(const std::function<const char *()> &waitingFor) {
  const int64_t now = steadyNanoseconds();
  if (now - lastTick > std::max(timeout / 2, 3 * beatEvery)) // this process was stopped: it could not hear
    for (Peer &peer : peers)
      peer.heard = now;
  lastTick = now;
  hear(now);
  beat(now);
  takeOwn(now);
  if (now >= nextLook) {
    nextLook = now + interval();
    judge(now, waitingFor);
  }
  if (due && now >= *due && !hasStopped())
    sayAndStop();
}

void Watch::hear(int64_t now) {
  for (;;) {
    if (!receiving)
      receiving = transport.receive(Messages::kAnyone, kControlTag, &incoming, sizeof(incoming));
    Messages::Sender sender;
    if (!transport.testAnyones(receiving, sender))
      return;
    take(sender, now);
  }
}

void Watch::take(const Messages::Sender &sender, int64_t now) {
  const auto [from, count] = sender;
  if (from < 0 || from >= world.size || count <= offsetof(Control, text) || count > sizeof(Control) ||
      incoming.kind > Control::Kind::Stop)
    fail("rank {} sent {} bytes that are no control message: do all ranks run the same program?", from,
         count);
  Peer &peer = peers[static_cast<size_t>(from)];
  peer.heard = now;
  if (incoming.kind == Control::Kind::Beat)
    return;
  const std::string text =
      printable({incoming.text, strnlen(incoming.text, count - offsetof(Control, text))});
  const bool isLoss = incoming.kind == Control::Kind::Loss;
  const bool isFailure = incoming.kind == Control::Kind::Failure;
  if (incoming.kind == Control::Kind::Stop)
    takeStop(from, text);
  // The last message of a rank that has died since tells why.
  if (((isLoss || isFailure) && !due) || (isFailure && peer.dead)) {
    const bool own = text.empty();
    reason = isLoss && !own ? text
             : own          ? fmt::format("{} has ended", nameOf(from))
                            : fmt::format("{}: {}", nameOf(from), text);
    due = now + (own ? kPatience : kOwnWords);
  }
}

/// The ranks before this one speak for it, and have said why. Who speaks over it, or says nothing, is named.
void Watch::takeStop(int64_t from, const std::string &text) {
  if (!hasStopped() && (from > world.rank || text.empty()))
    say(fmt::format("kedge: error: {} has ended the job{}", nameOf(from),
                    text.empty() ? " without saying why" : ": " + text));
  stopped.store(true, std::memory_order_release);
}

void Watch::beat(int64_t now) {
  if (now < nextBeat)
    return;
  nextBeat = now + beatEvery;
  for (int64_t rank = 0; rank < world.size; ++rank) {
    Peer &peer = peers[static_cast<size_t>(rank)];
    if (rank != world.rank && !peer.gone && isTested(peer.beat))
      peer.beat = transport.send(rank, kControlTag, &beating, offsetof(Control, text) + 1);
  }
}

void Watch::judge(int64_t now, const std::function<const char *()> &waitingFor) {
  for (int64_t rank = 0; rank < world.size; ++rank) {
    Peer &peer = peers[static_cast<size_t>(rank)];
    if (rank == world.rank || peer.gone || hasStopped())
      continue;
    const int64_t process = processOf(rank);
    const bool died = process != 0 && kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
    const bool lost = transport.isLost(rank);
    if (!died && !lost && now - peer.heard < timeout) {
      peer.missed = 0;
      continue;
    }
    if (peer.missed == 0)
      peer.missed = now;
    const char *collective = waitingFor();
    if (!collective && now - peer.missed < kNextCollective)
      continue;
    peer.gone = true;
    peer.dead = died || lost;
    if (due && speaker() == world.rank) // the one that would have spoken for this rank is gone as well
      due = std::min(*due, now + kOwnWords);
    const std::string what = died ? fmt::format("{} is gone: its process {} has ended", nameOf(rank), process)
                             : lost ? fmt::format("{} is gone: its connection has ended", nameOf(rank))
                                    : fmt::format("{} has not been heard of for {} s (--comm-timeout)",
                                                  nameOf(rank), static_cast<double>(timeout) / 1e9);
    const std::string where = collective ? fmt::format("in {}", collective) : "between collectives";
    report(Control::Kind::Loss,
           fmt::format("{}; {} was {}; {}", what, nameOf(world.rank), where, checkpointWords()), now);
  }
}

void Watch::nameRanks(std::vector<std::string> texts) {
  const std::lock_guard lock(mutex);
  names = std::move(texts);
}

std::string Watch::nameOf(int64_t rank) {
  const std::lock_guard lock(mutex);
  const std::string place = names.empty() ? "" : names[static_cast<size_t>(rank)];
  return place.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, place);
}

void Watch::announce(const std::string &text) {
  const std::lock_guard lock(mutex);
  announced = text;
}

void Watch::takeOwn(int64_t now) {
  std::optional<std::string> own;
  {
    const std::lock_guard lock(mutex);
    std::swap(own, announced);
  }
  if (!own || hasStopped())
    return;
  if (!own->empty() && speaker() == world.rank)
    due.reset(); // its own words before those of others
  report(Control::Kind::Failure, *own, now);
}

int64_t Watch::speaker() const {
  for (int64_t rank = 0; rank < world.size; ++rank)
    if (!peers[static_cast<size_t>(rank)].gone)
      return rank;
  return world.rank;
}

void Watch::report(Control::Kind kind, const std::string &text, int64_t now) {
  if (due)
    return;
  reason = text;
  const int64_t speaks = speaker();
  // A rank that is gone may have sent the reason just before: the message is still on its way.
  due = now + (speaks != world.rank ? kPatience : kind == Control::Kind::Loss ? kOwnWords : 0);
  if (speaks != world.rank)
    tell(speaks, kind, text);
}

void Watch::sayAndStop() {
  spoken.store(true, std::memory_order_release);
  if (!reason.empty())
    say(fmt::format("kedge: error: {}", reason));
  for (int64_t rank = 0; rank < world.size; ++rank)
    if (rank != world.rank &&
        !peers[static_cast<size_t>(rank)].dead) // one that was stopped hears it when it wakes
      tell(rank, Control::Kind::Stop, reason);
  // They leave this process while it is still there.
  const int64_t end = steadyNanoseconds() + 2 * kSecond;
  Yielder yielder;
  for (bool all = false; !all && steadyNanoseconds() < end; yielder.yield()) {
    all = true;
    for (Peer &peer : peers)
      all &= peer.gone || isTested(peer.telling[1]);
  }
  stopped.store(true, std::memory_order_release);
}

void Watch::tell(int64_t rank, Control::Kind kind, const std::string &text) {
  Peer &peer = peers[static_cast<size_t>(rank)];
  const size_t which = kind == Control::Kind::Stop ? 1 : 0;
  Control &message = peer.told[which];
  message.kind = kind;
  const size_t length = std::min(text.size(), Control::kText - 1);
  std::memcpy(message.text, text.data(), length);
  message.text[length] = 0;
  peer.telling[which] = transport.send(rank, kControlTag, &message, offsetof(Control, text) + length + 1);
}

void Watch::end() {
  if (receiving)
    transport.cancel(receiving);
}

} // namespace kedge::rt::messages
