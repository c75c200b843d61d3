// In which order rows go to the ranks of their experts. Known once a step has chosen the experts.
#pragma once
#include "runtime/comm/Collective.h"

namespace kedge::rt {

/// The places of a rank, those of each rank's experts one behind the other, in their order; and who sends how
/// many to whom. Lies in memory of the caller.
class RowOrder {
public:
  RowOrder() = default;
  static size_t bytes(const RoutedRows &rows, int64_t ranks);
  /// Sorts. Throws rt::RuntimeError if an expert does not exist, or if a rank would receive more rows than it
  /// has room for: all ranks throw this, since all have all counts.
  void sort(const RoutedRows &rows, int64_t ranks, int64_t rank, const std::string &name, void *memory);

  /// The places whose experts `rank` has: order()[begin(rank)] and on, end(rank) - begin(rank) of them.
  int64_t begin(int64_t rank) const { return begins[rank]; }
  int64_t end(int64_t rank) const { return begins[rank + 1]; }
  const int32_t *order() const { return places; }
  /// Rows that `rank` sends to this one are received from this row on, up to that of the next.
  int64_t firstFrom(int64_t rank) const { return received[rank]; }
  int64_t receivedRows(int64_t ranks) const { return received[ranks]; }

private:
  int64_t *begins = nullptr, *received = nullptr;
  int32_t *places = nullptr;
};

/// Rows of a message, and the bytes of one.
int64_t rowsOfMessage(const RoutedRows &rows, DType type, int64_t ranks);
/// Of order and messages.
size_t routedWorkspace(const RoutedRows &rows, DType type, int64_t ranks);

} // namespace kedge::rt
