// Orders in which one step that nothing waits for runs late.
#pragma once
#include "lib/Solver/Remat/RematModel.h"

namespace kedge::solver {

/// The given order with one node moved to its end, together with what depends on it: a gradient of weights
/// and its update. Large inputs are made again right before it where that holds no more bytes. One order for
/// each of `most` such nodes at most, those that read the most bytes first.
std::vector<std::vector<int>> delayedStarts(const RematModel &model, size_t most);

} // namespace kedge::solver
