// The processes that train together, and the rows of data that each of them takes.
#pragma once
#include <cstdint>

namespace kedge::rt {

/// This process among those that train one model. One of one until something starts more.
struct World {
  int64_t rank = 0, size = 1;

  /// The rank that logs, and writes what there is one of.
  bool isFirst() const { return rank == 0; }
};

/// Elements [first, first + count) of a tensor.
struct ElementRange {
  int64_t first = 0, count = 0;
};

/// Elements of the part of a tensor that each of `ranks` ranks has room for; in the last parts some are padding.
inline int64_t shardSize(int64_t elements, int64_t ranks) { return (elements + ranks - 1) / ranks; }

/// The elements of a tensor that a rank holds when it is cut into parts of shardSize; a rank may hold none.
inline ElementRange shardOf(int64_t elements, int64_t rank, int64_t ranks) {
  const int64_t size = shardSize(elements, ranks);
  const int64_t first = rank * size < elements ? rank * size : elements;
  return {first, first + size < elements ? size : elements - first};
}

/// Rows [first, first + count).
struct RowRange {
  int64_t first = 0, count = 0;
};

/// Contract, section 2: the rows of a step that this rank takes in micro-batch `micro` when a rank's micro-batch has
/// `batch` rows, counted from the step's first row. Random numbers are keyed by them; data is read at them.
inline RowRange rowsOfStep(const World &world, int64_t batch, int64_t micro) {
  return {(micro * world.size + world.rank) * batch, batch};
}

/// Rows that all ranks take in a step of `accumulate` micro-batches.
inline int64_t rowsInStep(const World &world, int64_t batch, int64_t accumulate) {
  return world.size * batch * accumulate;
}

} // namespace kedge::rt
