// The sharding rule of a loop nest.
#pragma once
#include "kedge/Interfaces/Sharding.h"

namespace kedge::mesh {

/// A loop may be cut if each tensor's dimension along it is all of it, and if the nest of the same op on
/// blocks has the same body and but a shorter loop: then no element's computation asks where it is or how
/// many there are. A reduced loop may be, if the results are sums over it. Without loops for an op that is no
/// nest.
ShardingRule clusterRule(mlir::Operation *op, int64_t ranks);

} // namespace kedge::mesh
