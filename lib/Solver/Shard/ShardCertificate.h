// A bound that rounding cannot make wrong.
#pragma once
#include "lib/Solver/Shard/ShardModel.h"

namespace kedge::solver {

/// Prices on a grid so coarse that all their sums are exact.
std::vector<double> exactPrices(const std::vector<double> &prices);

/// The value of messages and prices of times (none negative), as ShardDual has them, less all that adding up
/// in double can be wrong by, rounded up to the next whole number, since costs are whole; 0 at least.
int64_t certifiedBound(const ShardModel &model, const std::vector<double> &messages,
                       const std::vector<double> &prices);

} // namespace kedge::solver
