// Whether streams and events order all that touches the same bytes.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"

namespace kedge::memory {

/// Emits an error at the first launch that may run beside an earlier one while both touch the same bytes and
/// one of them writes, or whose events are none. Lifetimes are right and disjoint where buffers share bytes.
mlir::LogicalResult checkOrder(exec::FunctionOp function);

} // namespace kedge::memory
