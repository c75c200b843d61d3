#include "runtime/comm/Rounds.h"
#include "runtime/comm/RoutedRows.h"
#include <algorithm>

namespace kedge::rt {
namespace {

/// A part of at least this size goes alone: another message costs less than packing it.
constexpr size_t kAloneBytes = size_t(64) << 10;
/// Large enough for the speed of memory, small enough that summing overlaps receiving.
constexpr size_t kMessageBytes = size_t(256) << 10;
/// A message holds elements, of however many ranks it is one.
constexpr size_t kLeastBytes = 64;
/// Nothing is summed or kept on the way, so the message may be larger.
constexpr size_t kGatherBytes = size_t(1) << 20;

int64_t partSize(CollectiveKind kind, int64_t elements, int64_t ranks) {
  return kind == CollectiveKind::AllReduce ? elements : shardSize(elements, ranks);
}

size_t partBytes(const Collective &collective, size_t t, int64_t ranks) {
  const CollectiveTensor &tensor = collective.tensors[t];
  return packedBytes(partSize(collective.kind, tensor.elements, ranks), tensor.type);
}

size_t messageLimit(CollectiveKind kind, int64_t ranks) {
  if (kind == CollectiveKind::AllGather)
    return kGatherBytes;
  // Two rounds of messages from, and to, every other rank.
  const size_t share =
      kMostWorkspace / (2 * RoundSpace::kSlots) / static_cast<size_t>(std::max<int64_t>(1, ranks - 1));
  return std::clamp<size_t>(share / 64 * 64, kLeastBytes, kMessageBytes);
}

size_t packLimit(CollectiveKind kind, int64_t ranks) {
  return messageLimit(kind == CollectiveKind::AllGather ? CollectiveKind::ReduceScatter : kind, ranks);
}

} // namespace

Rounds::Rounds(const Collective &collective, int64_t ranks)
    : collective(&collective), ranks(ranks), messageBytes(messageLimit(collective.kind, ranks)) {}

Round Rounds::take() {
  const CollectiveTensor &tensor = collective->tensors[next.begin];
  const int64_t size = partSize(collective->kind, tensor.elements, ranks);
  const size_t most = packLimit(collective->kind, ranks);
  Round round = next;
  size_t packed = 0;
  if (next.offset == 0)
    for (; round.end < collective->tensors.size(); ++round.end) {
      const size_t bytes = partBytes(*collective, round.end, ranks);
      if (bytes >= std::min(kAloneBytes, most) || packed + bytes > most)
        break;
      packed += bytes;
    }
  if (round.end > round.begin + 1) {
    next = {round.end, round.end, 0, 0};
    return round;
  }
  const int64_t longest = static_cast<int64_t>(messageBytes / dtypeSize(tensor.type));
  round.end = round.begin + 1;
  round.length = std::min(size - round.offset, longest);
  next = round.offset + round.length < size ? Round{round.begin, round.begin, round.offset + round.length, 0}
                                            : Round{round.end, round.end, 0, 0};
  return round;
}

ElementRange partOf(CollectiveKind kind, int64_t elements, int64_t rank, int64_t ranks) {
  return kind == CollectiveKind::AllReduce ? ElementRange{0, elements} : localShardOf(elements, rank, ranks);
}

ElementRange pieceOf(const Collective &collective, const Round &round, size_t t, int64_t rank,
                     int64_t ranks) {
  const ElementRange part = partOf(collective.kind, collective.tensors[t].elements, rank, ranks);
  if (round.isPacked())
    return part;
  const int64_t begin = std::min(round.offset, part.count);
  return {part.first + begin, std::min(round.length, part.count - begin)};
}

size_t messageBytesOf(const Collective &collective, const Round &round, int64_t rank, int64_t ranks) {
  if (!round.isPacked())
    return static_cast<size_t>(pieceOf(collective, round, round.begin, rank, ranks).count) *
           dtypeSize(collective.tensors[round.begin].type);
  size_t bytes = 0;
  for (size_t t = round.begin; t < round.end; ++t)
    bytes += packedBytes(pieceOf(collective, round, t, rank, ranks).count, collective.tensors[t].type);
  return bytes;
}

RoundSpace spaceOf(const Collective &collective, int64_t ranks) {
  RoundSpace space;
  if (collective.kind == CollectiveKind::Transfer) // from where they lie to where they are wanted
    return space;
  const size_t others = static_cast<size_t>(std::max<int64_t>(0, ranks - 1));
  const bool gathers = collective.kind == CollectiveKind::AllGather;
  for (Rounds rounds(collective, ranks); !rounds.isDone();) {
    const Round round = rounds.take();
    if (gathers && !round.isPacked())
      continue;
    space.receives = others;
    if (round.isPacked())
      space.packs = collective.kind == CollectiveKind::ReduceScatter ? others : 1;
    // Rank 0 has the largest part.
    space.message = std::max(space.message, (messageBytesOf(collective, round, 0, ranks) + 63) / 64 * 64);
  }
  return space;
}

size_t collectiveWorkspace(const Collective &collective, int64_t ranks) {
  if (ranks <= 1)
    return 0;
  return collective.rows ? routedWorkspace(*collective.rows, collective.tensors.front().type, ranks)
                         : spaceOf(collective, ranks).bytes();
}

} // namespace kedge::rt
