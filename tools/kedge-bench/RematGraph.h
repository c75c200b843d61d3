// Graphs for `kedge-bench remat`: networkx node-link JSON, in the dialects of Checkmate's training graphs
// (`id`, `cost_cpu`, `cost_ram`) and of Moccasin's random layered ones (`name`, `duration`, `out_cost`).
#pragma once
#include "lib/Solver/Remat/Rematerialization.h"
#include <string>

namespace kedge::bench {

/// Each node makes one value, by its place in the file's list. The order is `graph.order`, else the order of
/// the file, else (where that is no execution) a topological one. Throws kedge::Error.
solver::RematProblem readRematGraph(const std::string &path);

/// A budget in bytes: a fraction of `peak` up to 1, bytes above. Throws kedge::Error.
int64_t parseBudget(const std::string &text, int64_t peak);

} // namespace kedge::bench
