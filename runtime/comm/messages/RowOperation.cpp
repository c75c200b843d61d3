#include "runtime/comm/messages/RowOperation.h"
#include <algorithm>
#include <cstring>

namespace kedge::rt::messages {

void RowOperation::configure(Collective what) {
  collective = std::move(what);
  shown = collective.name;
  background = collective.background;
  rowBytes = collective.rows->width * static_cast<int64_t>(dtypeSize(tensor().type));
  rowsAtOnce = rowsOfMessage(*collective.rows, tensor().type, world.size);
}

void RowOperation::rewind() {
  next = 0;
  failure = nullptr;
}

void RowOperation::check() const {
  if (failure)
    std::rethrow_exception(failure);
}

/// The counts may come by the collective before, and are here when this one's turn has come.
bool RowOperation::beginRows() {
  try {
    order.sort(*collective.rows, world.size, world.rank, collective.name, collective.workspace);
  } catch (const RuntimeError &) {
    failure = std::current_exception();
    return false;
  }
  moveOwn();
  if (!collective.rows->back)
    pad();
  return true;
}

RowOperation::Piece RowOperation::pieceOf(int64_t first, int64_t end, int64_t round) const {
  const int64_t begin = std::min(first + round * rowsAtOnce, end);
  return {begin, std::min(rowsAtOnce, end - begin)};
}
RowOperation::Piece RowOperation::placesOf(int64_t peer, int64_t round) const {
  return pieceOf(order.begin(peer), order.end(peer), round);
}
RowOperation::Piece RowOperation::rowsFrom(int64_t peer, int64_t round) const {
  return pieceOf(order.firstFrom(peer), order.firstFrom(peer + 1), round);
}

char *RowOperation::buffer(int slot, int64_t peer) const {
  const int64_t which = peer < world.rank ? peer : peer - 1, at = slot * (world.size - 1) + which,
                message = (rowsAtOnce * rowBytes + 63) / 64 * 64;
  return static_cast<char *>(collective.workspace) + RowOrder::bytes(*collective.rows, world.size) +
         at * message;
}

/// Rows of places, which share those of the input.
void RowOperation::gather(Piece piece, char *to) const {
  for (int64_t i = 0; i < piece.rows; ++i)
    std::memcpy(to + i * rowBytes, inputRow(order.order()[piece.first + i] / collective.rows->each),
                static_cast<size_t>(rowBytes));
}

void RowOperation::spread(Piece piece, const char *from) const {
  for (int64_t i = 0; i < piece.rows; ++i)
    std::memcpy(outputRow(order.order()[piece.first + i]), from + i * rowBytes,
                static_cast<size_t>(rowBytes));
}

/// What stays on the rank.
void RowOperation::moveOwn() const {
  const int64_t first = order.firstFrom(world.rank);
  const Piece places{order.begin(world.rank), order.end(world.rank) - order.begin(world.rank)};
  if (collective.rows->back)
    spread(places, inputRow(first));
  else
    gather(places, outputRow(first));
}

void RowOperation::pad() const {
  const int64_t first = order.receivedRows(world.size), rows = collective.rows->capacity - first,
                count = rows * collective.rows->width;
  if (collective.rows->padding == 0)
    std::memset(outputRow(first), 0, static_cast<size_t>(rows * rowBytes));
  else if (tensor().type == DType::I64)
    std::fill_n(reinterpret_cast<int64_t *>(outputRow(first)), count, collective.rows->padding);
  else
    std::fill_n(reinterpret_cast<int32_t *>(outputRow(first)), count,
                static_cast<int32_t>(collective.rows->padding));
}

bool RowOperation::post(int slot) {
  const int64_t round = next;
  if (round == 0 && !beginRows())
    return false;
  const bool back = collective.rows->back;
  bool any = false;
  for (int64_t step = 1; step < world.size; ++step) {
    const int64_t peer = (world.rank + world.size - step) % world.size;
    const Piece comes = back ? placesOf(peer, round) : rowsFrom(peer, round);
    if (comes.rows > 0) {
      receive(slot, peer, back ? buffer(slot, peer) : outputRow(comes.first),
              static_cast<size_t>(comes.rows * rowBytes));
      any = true;
    }
  }
  // Every rank begins with another one, so that not all send to the same.
  for (int64_t step = 1; step < world.size; ++step) {
    const int64_t peer = (world.rank + step) % world.size;
    const Piece goes = back ? rowsFrom(peer, round) : placesOf(peer, round);
    if (goes.rows == 0)
      continue;
    if (!back)
      gather(goes, buffer(slot, peer));
    send(slot, peer, back ? inputRow(goes.first) : buffer(slot, peer),
         static_cast<size_t>(goes.rows * rowBytes));
    any = true;
  }
  rounds[static_cast<size_t>(slot)] = round;
  ++next;
  return any;
}

void RowOperation::complete(int slot) {
  if (!collective.rows->back)
    return;
  for (int64_t peer = 0; peer < world.size; ++peer)
    if (peer != world.rank)
      spread(placesOf(peer, rounds[static_cast<size_t>(slot)]), buffer(slot, peer));
}

} // namespace kedge::rt::messages
