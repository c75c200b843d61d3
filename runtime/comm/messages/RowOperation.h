// Rows to the ranks that have their experts, and back.
#pragma once
#include "runtime/comm/RoutedRows.h"
#include "runtime/comm/messages/Exchange.h"
#include <exception>

namespace kedge::rt::messages {

class RowOperation final : public Exchange {
public:
  using Exchange::Exchange;
  /// A collective of the kind Rows. Must not be called while it runs.
  void configure(Collective what);
  /// Throws what was wrong with experts or counts in the latest run, which then has sent nothing.
  void check() const;

private:
  /// Rows that go between this rank and another in one round.
  struct Piece {
    int64_t first = 0, rows = 0;
  };

  bool post(int slot) override;
  void complete(int slot) override;
  void rewind() override;

  /// Of the places of `peer`'s experts, and of the rows that have come from it.
  Piece placesOf(int64_t peer, int64_t round) const;
  Piece rowsFrom(int64_t peer, int64_t round) const;
  Piece pieceOf(int64_t first, int64_t end, int64_t round) const;
  char *buffer(int slot, int64_t peer) const;
  const char *inputRow(int64_t row) const {
    return static_cast<const char *>(tensor().input) + row * rowBytes;
  }
  char *outputRow(int64_t row) const { return static_cast<char *>(tensor().output) + row * rowBytes; }
  void gather(Piece piece, char *to) const;
  void spread(Piece piece, const char *from) const;
  bool beginRows();
  void moveOwn() const;
  void pad() const;

  const CollectiveTensor &tensor() const { return collective.tensors.front(); }

  Collective collective;
  RowOrder order;
  std::exception_ptr failure;
  int64_t rowBytes = 0, rowsAtOnce = 1, next = 0;
  std::array<int64_t, RoundSpace::kSlots> rounds{}; ///< under way, by slot
};

} // namespace kedge::rt::messages
