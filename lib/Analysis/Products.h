// Launches of level 4 that are bound by multiplications.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"

namespace kedge::analysis {

/// A product, a convolution or attention: its last wave leaves multiprocessors of a GPU idle, and memory
/// nearly so.
bool multiplies(exec::LaunchInterface launch);

} // namespace kedge::analysis
