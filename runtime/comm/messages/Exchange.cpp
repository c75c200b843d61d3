#include "runtime/comm/messages/Exchange.h"

namespace kedge::rt::messages {
namespace {

/// Tags below are control messages'. Two operations with the same tag are further apart than any are under
/// way. Each party has its own: ranks that meet in several need not have done as much in each.
constexpr int kFirstTag = 16, kTags = 1 << 14;

} // namespace

Exchange::Exchange(Messages &transport, const Party &party)
    : transport(transport), party(party), world(party.own) {
  for (Requests &list : requests)
    list.open.resize(static_cast<size_t>(2 * world.size), nullptr);
}

void Exchange::begin(uint64_t sequence) {
  tag = kFirstTag + static_cast<int>(party.number) * kTags + static_cast<int>(sequence % kTags);
  exhausted = false;
  ran = {};
  rewind();
  done.store(false, std::memory_order_release);
}

void Exchange::send(int slot, int64_t peer, const void *bytes, size_t count) {
  Requests &list = requests[static_cast<size_t>(slot)];
  list.open[list.count++] = transport.send(party.rankOf(peer), tag, bytes, count);
}

void Exchange::receive(int slot, int64_t peer, void *bytes, size_t count) {
  Requests &list = requests[static_cast<size_t>(slot)];
  list.open[list.count++] = transport.receive(party.rankOf(peer), tag, bytes, count);
}

bool Exchange::finish(int slot) {
  Requests &list = requests[static_cast<size_t>(slot)];
  if (!transport.testAll(list.open.data(), list.count))
    return false;
  complete(slot);
  busy[static_cast<size_t>(slot)] = false;
  return true;
}

Exchange::Step Exchange::advance() {
  if (ran.begin == 0)
    ran.begin = steadyNanoseconds();
  bool moved = false;
  for (int slot = 0; slot < RoundSpace::kSlots; ++slot)
    if (!isFree(slot))
      moved |= finish(slot);
  for (int slot = 0; slot < RoundSpace::kSlots && !exhausted; ++slot) {
    if (!isFree(slot))
      continue;
    requests[static_cast<size_t>(slot)].count = 0;
    if (post(slot))
      busy[static_cast<size_t>(slot)] = moved = true;
    else
      exhausted = true;
  }
  if (exhausted && isFree(0) && isFree(1)) {
    ran.end = steadyNanoseconds();
    return Step::Ended;
  }
  return moved ? Step::Moved : Step::Waiting;
}

} // namespace kedge::rt::messages
