#include "runtime/comm/messages/Operation.h"
#include <algorithm>

namespace kedge::rt::messages {
namespace {

/// Tags below are control messages'. Two operations with the same tag are further apart than any are under way.
constexpr int kFirstTag = 16, kTags = 1 << 14;
constexpr size_t kTransferBytes = size_t(4) << 20;

} // namespace

Operation::Operation(Messages &transport, const World &world) : transport(transport), world(world) {
  for (Requests &list : requests)
    list.open.resize(static_cast<size_t>(2 * world.size), nullptr);
}

void Operation::begin(uint64_t sequence) {
  tag = kFirstTag + static_cast<int>(sequence % kTags);
  exhausted = false;
  ran = {};
  rewind();
  done.store(false, std::memory_order_release);
}

void Operation::send(int slot, int64_t peer, const void *bytes, size_t count) {
  Requests &list = requests[static_cast<size_t>(slot)];
  list.open[list.count++] = transport.send(peer, tag, bytes, count);
}

void Operation::receive(int slot, int64_t peer, void *bytes, size_t count) {
  Requests &list = requests[static_cast<size_t>(slot)];
  list.open[list.count++] = transport.receive(peer, tag, bytes, count);
}

bool Operation::finish(int slot) {
  Requests &list = requests[static_cast<size_t>(slot)];
  if (!transport.testAll(list.open.data(), list.count))
    return false;
  complete(slot);
  busy[static_cast<size_t>(slot)] = false;
  return true;
}

Operation::Step Operation::advance() {
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

void TransferOperation::configure(int64_t sender, int64_t receiver, const void *bytes, void *into, size_t total,
                                  const char *name) {
  from = sender;
  to = receiver;
  source = static_cast<const char *>(bytes);
  destination = static_cast<char *>(into);
  count = total;
  shown = name;
}

bool TransferOperation::post(int slot) {
  const bool receives = world.rank != from && (to == kAll || world.rank == to);
  if (sent == count || (world.rank != from && !receives))
    return false;
  const size_t part = std::min(count - sent, kTransferBytes);
  if (receives)
    receive(slot, from, destination + sent, part);
  else if (to != kAll)
    send(slot, to, source + sent, part);
  else
    for (int64_t peer = 0; peer < world.size; ++peer)
      if (peer != from)
        send(slot, peer, source + sent, part);
  sent += part;
  return true;
}

} // namespace kedge::rt::messages
