#include "runtime/comm/messages/Watch.h"
#include "runtime/comm/Communicator.h"
#include "runtime/exec/Yielder.h"
#include "runtime/io/Error.h"
#include "runtime/io/Say.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
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
      beatEvery(std::clamp(timeout / 10, 10 * kMillisecond, kSecond)),
      peers(static_cast<size_t>(world.size)) {
  beating.rank = static_cast<int32_t>(world.rank);
}

Watch::ProcessIdentity Watch::ownIdentity() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return {hashOf(name), getpid()};
}

int64_t Watch::interval() const { return std::min(beatEvery, kLookEvery); }

void Watch::begin(const std::vector<ProcessIdentity> &identities) {
  const ProcessIdentity own = ownIdentity();
  lastTick = steadyNanoseconds();
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    peers[rank].heard = lastTick;
    // In another container a process has another number here, or none.
    const bool visible =
        identities[rank].host == own.host && kill(static_cast<pid_t>(identities[rank].process), 0) == 0;
    if (visible && static_cast<int64_t>(rank) != world.rank)
      peers[rank].process = identities[rank].process;
  }
}

std::vector<int64_t> Watch::processes() const {
  std::vector<int64_t> found;
  for (const Peer &peer : peers)
    found.push_back(peer.process);
  return found;
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
    if (!isTested(receiving))
      return;
    const size_t from = static_cast<size_t>(incoming.rank);
    peers[from].heard = now;
    if (incoming.kind == Control::Kind::Stop)
      stopped.store(true, std::memory_order_release);
    const bool isLoss = incoming.kind == Control::Kind::Loss;
    const bool isFailure = incoming.kind == Control::Kind::Failure;
    // The last message of a rank that has died since tells why.
    if (((isLoss || isFailure) && !due) || (isFailure && peers[from].dead)) {
      const bool own = incoming.text[0] == 0;
      reason = isLoss ? std::string(incoming.text)
               : own  ? fmt::format("{} has ended", nameOf(incoming.rank))
                      : fmt::format("{}: {}", nameOf(incoming.rank), incoming.text);
      due = now + (own ? kPatience : kOwnWords);
    }
  }
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
    const bool died = peer.process != 0 && kill(static_cast<pid_t>(peer.process), 0) != 0 && errno == ESRCH;
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
    const std::string what =
        died   ? fmt::format("{} is gone: its process {} has ended", nameOf(rank), peer.process)
        : lost ? fmt::format("{} is gone: its connection has ended", nameOf(rank))
               : fmt::format("{} has not been heard of for {} s (--comm-timeout)", nameOf(rank),
                             static_cast<double>(timeout) / 1e9);
    const std::string where = collective ? fmt::format("in {}", collective) : "between collectives";
    report(Control::Kind::Loss,
           fmt::format("{}; {} was {}; the last checkpoint is whole", what, nameOf(world.rank), where), now);
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
      tell(rank, Control::Kind::Stop, "");
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
  message.rank = static_cast<int32_t>(world.rank);
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
