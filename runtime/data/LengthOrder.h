// The order in which a shuffled run visits rows of several lengths: rows of a batch are about as long as each
// other.
#pragma once
#include "runtime/data/RowLengths.h"

namespace kedge::rt {

/// Rows in the order of --shuffle, of which those of a window are sorted by their length, and cut into
/// batches that come in a random order. Windows and batches are counted over the whole run, so that a batch
/// may begin in one epoch and end in the next. A function of the seed and the position alone: the same on all
/// ranks, and after a resume.
class LengthOrder {
public:
  struct Form {
    int64_t rows = 0, together = 1; ///< of the data set, and that stay next to each other
    uint64_t seed = 0;
    int64_t batch = 1; ///< rows that all ranks take at once
  };
  LengthOrder(const RowLengths &lengths, const Form &form);

  /// The row of the data set at a position of the run. Reads lengths where it enters another window.
  int64_t at(int64_t index) const;

private:
  struct Entry {
    int64_t places, rank, row; ///< rank: among the window's rows as --shuffle has them
  };
  struct Batch {
    int64_t begin, end; ///< positions of the run, in rows that stay together
  };
  void enter(int64_t window, int64_t epoch) const;
  void sortRows(int64_t begin, int64_t end, int64_t epoch) const;
  void shuffleBatches(int64_t begin, int64_t end, int64_t window) const;

  const RowLengths &lengths;
  const Form form;
  const int64_t groups, batch, window; ///< rows that stay together: of the data set, of a batch, of a window
  mutable int64_t windowAt = -1, epochAt = -1, beginAt = 0;
  mutable std::vector<Entry> entries;
  mutable std::vector<Batch> batches;
  mutable std::vector<int64_t> order; ///< of the window's positions, the row (of those that stay together)
};

} // namespace kedge::rt
