// Instances for `kedge-bench shard`: the JSON of the IOPDDL contest.
#pragma once
#include "lib/Solver/Shard/ShardProblem.h"

namespace kedge::bench {

/// {"problem": {"name", "nodes": {"intervals", "costs", "usages"}, "edges": {"nodes", "costs"},
/// "usage_limit"}}; without a limit everything fits. Throws kedge::Error.
solver::ShardProblem readShardInstance(const std::string &path);

} // namespace kedge::bench
