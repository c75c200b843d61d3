// Collectives of tensors: who sends what in a round, and what is done with what has come.
#include "runtime/comm/Combine.h"
#include "runtime/comm/messages/Exchange.h"
#include <algorithm>
#include <cstring>

namespace kedge::rt::messages {
namespace {

/// Number of `peer` among the others.
size_t indexOf(int64_t peer, int64_t rank) { return static_cast<size_t>(peer < rank ? peer : peer - 1); }

size_t bytesOf(int64_t elements, DType type) { return static_cast<size_t>(elements) * dtypeSize(type); }

} // namespace

void TensorOperation::configure(Collective what) {
  collective = std::move(what);
  shown = collective.name;
  background = collective.background;
  space = spaceOf(collective, world.size);
  sources.resize(static_cast<size_t>(world.size));
}

void TensorOperation::rewind() { rounds = Rounds(collective, world.size); }

char *TensorOperation::receiveBuffer(int slot, int64_t peer) const {
  const size_t at = static_cast<size_t>(slot) * (space.receives + space.packs) + indexOf(peer, world.rank);
  return static_cast<char *>(collective.workspace) + at * space.message;
}

char *TensorOperation::packBuffer(int slot, int64_t peer) const {
  const size_t which = space.packs > 1 ? indexOf(peer, world.rank) : 0;
  const size_t at = static_cast<size_t>(slot) * (space.receives + space.packs) + space.receives + which;
  return static_cast<char *>(collective.workspace) + at * space.message;
}

/// The pieces of `rank`'s parts out of this rank's inputs; inputs of an all-gather are this rank's parts
/// themselves.
void TensorOperation::pack(const Round &round, int64_t rank, char *to) const {
  for (size_t t = round.begin; t < round.end; ++t) {
    const CollectiveTensor &tensor = collective.tensors[t];
    const ElementRange piece = pieceOf(collective, round, t, rank, world.size);
    const int64_t from = collective.kind == CollectiveKind::AllGather ? 0 : piece.first;
    std::memcpy(to, static_cast<const char *>(tensor.input) + bytesOf(from, tensor.type),
                bytesOf(piece.count, tensor.type));
    to += packedBytes(piece.count, tensor.type);
  }
}

/// What `peer` is to get in the round of `slot`; packed already where it is packed.
const char *TensorOperation::messageFor(int slot, int64_t peer) const {
  const Round &round = current[static_cast<size_t>(slot)];
  if (round.isPacked())
    return packBuffer(slot, peer);
  const bool scatters = collective.kind == CollectiveKind::ReduceScatter;
  const CollectiveTensor &tensor = collective.tensors[round.begin];
  const ElementRange piece =
      pieceOf(collective, round, round.begin, scatters ? peer : world.rank, world.size);
  const int64_t from = collective.kind == CollectiveKind::AllGather ? round.offset : piece.first;
  return static_cast<const char *>(tensor.input) + bytesOf(from, tensor.type);
}

void TensorOperation::packAll(int slot) const {
  const Round &round = current[static_cast<size_t>(slot)];
  if (collective.kind == CollectiveKind::ReduceScatter) {
    for (int64_t peer = 0; peer < world.size; ++peer)
      if (peer != world.rank)
        pack(round, peer, packBuffer(slot, peer));
  } else { // all get the same
    pack(round, world.rank, packBuffer(slot, 0));
  }
}

/// Where what `peer` gives in the round of `slot` comes to.
char *TensorOperation::placeFor(int slot, int64_t peer) const {
  const Round &round = current[static_cast<size_t>(slot)];
  if (collective.kind != CollectiveKind::AllGather || round.isPacked())
    return receiveBuffer(slot, peer);
  const CollectiveTensor &tensor = collective.tensors[round.begin];
  const ElementRange piece = pieceOf(collective, round, round.begin, peer, world.size);
  return static_cast<char *>(tensor.output) + bytesOf(piece.first, tensor.type);
}

bool TensorOperation::post(int slot) {
  if (rounds.isDone())
    return false;
  const Round round = current[static_cast<size_t>(slot)] = rounds.take();
  const bool gathers = collective.kind == CollectiveKind::AllGather,
             scatters = collective.kind == CollectiveKind::ReduceScatter;
  // Every rank begins with another one, so that not all send to the same.
  for (int64_t step = 1; step < world.size; ++step) {
    const int64_t peer = (world.rank + world.size - step) % world.size;
    if (const size_t bytes = messageBytesOf(collective, round, gathers ? peer : world.rank, world.size))
      receive(slot, peer, placeFor(slot, peer), bytes);
  }
  if (round.isPacked())
    packAll(slot);
  for (int64_t step = 1; step < world.size; ++step) {
    const int64_t peer = (world.rank + step) % world.size;
    if (const size_t bytes = messageBytesOf(collective, round, scatters ? peer : world.rank, world.size))
      send(slot, peer, messageFor(slot, peer), bytes);
  }
  if (gathers)
    copyOwn(round);
  return true;
}

void TensorOperation::complete(int slot) {
  if (collective.kind != CollectiveKind::AllGather)
    combinePieces(slot);
  else if (current[static_cast<size_t>(slot)].isPacked())
    unpackPieces(slot);
}

void TensorOperation::combinePieces(int slot) {
  const Round &round = current[static_cast<size_t>(slot)];
  const bool scatters = collective.kind == CollectiveKind::ReduceScatter;
  size_t at = 0;
  for (size_t t = round.begin; t < round.end; ++t) {
    const CollectiveTensor &tensor = collective.tensors[t];
    const ElementRange piece = pieceOf(collective, round, t, world.rank, world.size);
    for (int64_t rank = 0; rank < world.size; ++rank)
      sources[static_cast<size_t>(rank)] =
          rank == world.rank ? static_cast<const char *>(tensor.input) + bytesOf(piece.first, tensor.type)
                             : receiveBuffer(slot, rank) + at;
    char *output =
        static_cast<char *>(tensor.output) + bytesOf(round.isPacked() ? 0 : round.offset, tensor.type);
    combine(collective.reduction, collective.tree, tensor.type, sources.data(), sources.size(), output,
            piece.count);
    if (scatters) {
      const int64_t room = round.isPacked() ? shardSize(tensor.elements, world.size) : round.length;
      std::memset(output + bytesOf(piece.count, tensor.type), 0, bytesOf(room - piece.count, tensor.type));
    }
    at += packedBytes(piece.count, tensor.type);
  }
}

void TensorOperation::unpackPieces(int slot) {
  const Round &round = current[static_cast<size_t>(slot)];
  for (int64_t peer = 0; peer < world.size; ++peer) {
    if (peer == world.rank)
      continue;
    const char *from = receiveBuffer(slot, peer);
    for (size_t t = round.begin; t < round.end; ++t) {
      const CollectiveTensor &tensor = collective.tensors[t];
      const ElementRange piece = pieceOf(collective, round, t, peer, world.size);
      std::memcpy(static_cast<char *>(tensor.output) + bytesOf(piece.first, tensor.type), from,
                  bytesOf(piece.count, tensor.type));
      from += packedBytes(piece.count, tensor.type);
    }
  }
}

void TensorOperation::copyOwn(const Round &round) const {
  for (size_t t = round.begin; t < round.end; ++t) {
    const CollectiveTensor &tensor = collective.tensors[t];
    const ElementRange piece = pieceOf(collective, round, t, world.rank, world.size);
    std::memcpy(static_cast<char *>(tensor.output) + bytesOf(piece.first, tensor.type),
                static_cast<const char *>(tensor.input) +
                    bytesOf(round.isPacked() ? 0 : round.offset, tensor.type),
                bytesOf(piece.count, tensor.type));
  }
}

} // namespace kedge::rt::messages
