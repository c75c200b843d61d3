// Times at which nothing can exceed the limit unless it does at another time.
#pragma once
#include "lib/Solver/Shard/ShardModel.h"

namespace kedge::solver {

/// Leaves them out; spans of a node at the same times become one.
void dropImpliedTimes(ShardModel &model);

} // namespace kedge::solver
