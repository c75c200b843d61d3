// Exponentials whose last bits the rounding of results hides.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"

namespace kedge::sched {

/// Marks exp, tanh and erf of f32 `afn` where all that comes of them is rounded to 16 bits or fewer before it
/// leaves the cluster, or where their operand is made of 16-bit floats alone. Gives their number.
int64_t markFastExponentials(ClusterOp cluster);

} // namespace kedge::sched
