// sched.library as the runtime is asked for it.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "runtime/core/LibraryKernel.h"

namespace kedge::analysis {

rt::LibraryCall libraryCallOf(sched::LibraryOp op);

} // namespace kedge::analysis
