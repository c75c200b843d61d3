// Cuts a collective into rounds. In a round every rank sends at most one message to every other. All ranks
// cut alike.
#pragma once
#include "runtime/comm/Collective.h"
#include "runtime/program/World.h"

namespace kedge::rt {

/// Tensors [begin, end) of a collective. If it is one tensor: elements [offset, offset + length) of each
/// rank's part, sent without copying. If they are several small ones: all of their parts, packed into one
/// message.
struct Round {
  size_t begin = 0, end = 0;
  int64_t offset = 0, length = 0;

  bool isPacked() const { return end > begin + 1; }
};

class Rounds {
public:
  Rounds() = default;
  Rounds(const Collective &collective, int64_t ranks);

  bool isDone() const { return next.begin == collective->tensors.size(); }
  /// Must not be called when isDone().
  Round take();

private:
  const Collective *collective = nullptr;
  int64_t ranks = 1;
  size_t messageBytes = 0;
  Round next;
};

/// The part of `tensor` that belongs to `rank`: its shard if the sum is scattered, otherwise all of it.
ElementRange partOf(CollectiveKind kind, int64_t elements, int64_t rank, int64_t ranks);

/// The elements of tensor `t` that `rank` sends, or receives, in a round.
ElementRange pieceOf(const Collective &collective, const Round &round, size_t t, int64_t rank, int64_t ranks);

/// Bytes of a piece in a packed message.
inline size_t packedBytes(int64_t elements, DType type) {
  return (static_cast<size_t>(elements) * dtypeSize(type) + 7) / 8 * 8;
}

/// Bytes of a round's message with the pieces of `rank`.
size_t messageBytesOf(const Collective &collective, const Round &round, int64_t rank, int64_t ranks);

/// The workspace in which rounds receive and pack. Two rounds run at a time.
struct RoundSpace {
  static constexpr int kSlots = 2;
  size_t message = 0;             ///< most bytes of a message that goes through the workspace
  size_t receives = 0, packs = 0; ///< messages in each slot
  size_t bytes() const { return kSlots * (receives + packs) * message; }
};
RoundSpace spaceOf(const Collective &collective, int64_t ranks);

} // namespace kedge::rt
