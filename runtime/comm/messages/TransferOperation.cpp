#include "runtime/comm/messages/Exchange.h"
#include <algorithm>
#include <cstring>
#include <utility>

namespace kedge::rt::messages {
namespace {

constexpr size_t kMessageBytes = size_t(4) << 20;

} // namespace

void TransferOperation::configure(int64_t from, int64_t to, const void *source, void *destination,
                                  size_t count, const char *name) {
  senders.assign(static_cast<size_t>(world.size), Collective::kNobody);
  for (int64_t rank = 0; rank < world.size; ++rank)
    if (rank != from && (to == kAll || to == rank))
      senders[static_cast<size_t>(rank)] = from;
  pieces.assign(1, {static_cast<const char *>(source), static_cast<char *>(destination), count});
  fillsAll = false;
  shown = name;
}

void TransferOperation::configure(const Collective &what) {
  senders = what.senders;
  if (what.peer) {
    senders.assign(static_cast<size_t>(world.size), Collective::kNobody);
    (what.peer->sends ? senders[static_cast<size_t>(what.peer->rank)]
                      : senders[static_cast<size_t>(world.rank)]) =
        what.peer->sends ? world.rank : what.peer->rank;
    fixed = static_cast<uint64_t>(what.peer->number);
  }
  for (const CollectiveTensor &tensor : what.tensors)
    pieces.push_back({static_cast<const char *>(tensor.input), static_cast<char *>(tensor.output),
                      static_cast<size_t>(tensor.elements) * dtypeSize(tensor.type)});
  fillsAll = !what.peer;
  shown = what.name;
  background = what.background;
}

bool TransferOperation::givesAny() const {
  for (int64_t rank = 0; rank < world.size; ++rank)
    if (rank != world.rank && senders[static_cast<size_t>(rank)] == world.rank)
      return true;
  return false;
}

void TransferOperation::rewind() {
  next = sent = 0;
  isFilled = false;
}

/// What this rank needs no message for; not before the operation's turn, since what it reads may come from
/// the one before.
void TransferOperation::fillAlone() {
  if (!fillsAll || std::exchange(isFilled, true))
    return;
  for (const Bytes &piece : pieces)
    if (sender() == world.rank)
      std::memcpy(piece.destination, piece.source, piece.count);
    else if (sender() == Collective::kNobody)
      std::memset(piece.destination, 0, piece.count);
}

bool TransferOperation::post(int slot) {
  fillAlone();
  const bool receives = sender() != Collective::kNobody && sender() != world.rank;
  while (next < pieces.size() && sent == pieces[next].count) {
    ++next;
    sent = 0;
  }
  if (next == pieces.size() || (!receives && !givesAny()))
    return false;
  const Bytes &piece = pieces[next];
  const size_t part = std::min(piece.count - sent, kMessageBytes);
  if (receives)
    receive(slot, sender(), piece.destination + sent, part);
  for (int64_t rank = 0; rank < world.size; ++rank)
    if (rank != world.rank && senders[static_cast<size_t>(rank)] == world.rank)
      send(slot, rank, piece.source + sent, part);
  sent += part;
  return true;
}

} // namespace kedge::rt::messages
