// The processes that train together, and the data rows of each.
#pragma once
#include <cstdint>

namespace kedge::rt {

/// This process among those that train one model; by default it is the only one.
struct World {
  int64_t rank = 0, size = 1;

  /// Rank 0 logs and writes the files that exist once.
  bool isFirst() const { return rank == 0; }
};

/// Elements [first, first + count) of a tensor.
struct ElementRange {
  int64_t first = 0, count = 0;
};

/// Number of elements in the part of a tensor that each rank holds. The last parts may contain padding.
inline int64_t shardSize(int64_t elements, int64_t ranks) { return (elements + ranks - 1) / ranks; }

/// The elements of a tensor that a rank holds, when it is cut into parts of shardSize. A rank may hold none.
inline ElementRange localShardOf(int64_t elements, int64_t rank, int64_t ranks) {
  const int64_t size = shardSize(elements, ranks);
  const int64_t first = rank * size < elements ? rank * size : elements;
  return {first, first + size < elements ? size : elements - first};
}

/// Rows [first, first + count); with a `block`, so many in a row, and the next as many `stride` further on.
struct RowRange {
  int64_t first = 0, count = 0, block = 0, stride = 0;

  int64_t at(int64_t i) const { return block == 0 ? first + i : first + i / block * stride + i % block; }
};

/// The rows of a step that this rank takes in micro-batch `micro`, counted from the step's first row. `batch`
/// is the number of rows of one rank's micro-batch. Data are read at these rows, and random numbers are keyed
/// by them. With several `parts`, a rank's rows of `rounds` micro-batches are cut into so many: the first of
/// all rounds come first. A step of a pipeline takes the rows of all micro-batches, `joined` of them, at
/// once; those of a round of all parts follow each other.
inline RowRange rowsOfStep(const World &world, int64_t batch, int64_t micro, int64_t parts = 1,
                           int64_t rounds = 1, int64_t joined = 1) {
  if (joined > 1) {
    const int64_t block = batch / joined * parts;
    return {world.rank * block, batch, block, world.size * block};
  }
  const int64_t round = parts == 1 ? micro : micro % rounds, part = parts == 1 ? 0 : micro / rounds;
  return {((round * world.size + world.rank) * parts + part) * batch, batch};
}

/// Rows of all ranks together in a step of `accumulate` micro-batches.
inline int64_t rowsInStep(const World &world, int64_t batch, int64_t accumulate) {
  return world.size * batch * accumulate;
}

} // namespace kedge::rt
