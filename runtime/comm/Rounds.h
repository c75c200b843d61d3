// How a collective is cut into rounds: in each, every rank sends every other at most one message. All ranks cut alike.
#pragma once
#include "runtime/comm/Collective.h"
#include "runtime/program/World.h"

namespace kedge::rt {

/// Tensors [begin, end) of a collective. One alone: elements [offset, offset + length) of each rank's part of it, sent
/// from where they lie. Several small ones: all of their parts, packed into one message.
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
  /// Not when isDone().
  Round take();

private:
  const Collective *collective = nullptr;
  int64_t ranks = 1;
  size_t messageBytes = 0;
  Round next;
};

/// Elements of `tensor` that make `rank`'s part: its own of a sum that is scattered, all of one that is not.
ElementRange partOf(CollectiveKind kind, int64_t elements, int64_t rank, int64_t ranks);

/// The elements of tensor `t` that `rank` gives, or is given, in a round.
ElementRange pieceOf(const Collective &collective, const Round &round, size_t t, int64_t rank, int64_t ranks);

/// Bytes that a piece takes in a packed message.
inline size_t packedBytes(int64_t elements, DType type) {
  return (static_cast<size_t>(elements) * dtypeSize(type) + 7) / 8 * 8;
}

/// Bytes of a round's message about `rank`'s pieces.
size_t messageBytesOf(const Collective &collective, const Round &round, int64_t rank, int64_t ranks);

/// Where rounds keep what they receive and pack. Two rounds are under way at a time.
struct RoundSpace {
  static constexpr int kSlots = 2;
  size_t message = 0;           ///< bytes of a message that goes through the workspace, at most
  size_t receives = 0, packs = 0; ///< messages a slot
  size_t bytes() const { return kSlots * (receives + packs) * message; }
};
RoundSpace spaceOf(const Collective &collective, int64_t ranks);

} // namespace kedge::rt
