// The arithmetic of collectives.
#pragma once
#include "runtime/comm/Collective.h"

namespace kedge::rt {

/// output[i] = the sum (or maximum) of sources[0][i], sources[1][i],
/// ... in this order, for i < count. Sources may be unaligned. `tree`: neighbours first, then these results,
/// and so on.
void combine(Reduction reduction, bool tree, DType type, const char *const *sources, size_t sourceCount,
             void *output, int64_t count);

} // namespace kedge::rt
