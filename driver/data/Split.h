// Which rows are for training, and which are kept apart.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kedge::driver {

struct RowSplit {
  std::vector<size_t> training, test; ///< in the order of the file
};

/// `share` of the rows by random numbers of `seed`; at least one row of each kind where share is above 0.
/// Throws if there are too few rows.
RowSplit splitRows(size_t rows, double share, int64_t seed);

} // namespace kedge::driver
