#include "driver/data/Split.h"
#include "lib/Support/Error.h"
#include "runtime/format/Philox.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace kedge::driver {

RowSplit splitRows(size_t rows, double share, int64_t seed) {
  RowSplit split;
  std::vector<size_t> order(rows);
  std::iota(order.begin(), order.end(), size_t{0});
  if (share == 0)
    return {order, {}};
  if (rows < 2)
    fail("--test {}: expected two rows at least, found {}", share, rows);
  std::vector<uint64_t> keys(rows);
  for (size_t row = 0; row < rows; ++row) {
    const rt::PhiloxBlock random = rt::randomBlock(static_cast<uint64_t>(seed), 0, row, 0, 0);
    keys[row] = uint64_t{random[0]} << 32 | random[1];
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  const auto wanted = static_cast<size_t>(std::llround(share * static_cast<double>(rows)));
  const size_t count = std::clamp<size_t>(wanted, 1, rows - 1);
  split.test.assign(order.begin(), order.begin() + static_cast<ptrdiff_t>(count));
  split.training.assign(order.begin() + static_cast<ptrdiff_t>(count), order.end());
  std::sort(split.test.begin(), split.test.end());
  std::sort(split.training.begin(), split.training.end());
  return split;
}

} // namespace kedge::driver
