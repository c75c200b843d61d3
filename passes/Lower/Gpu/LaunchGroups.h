// Level 4: launches of one flat function become one launch.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"
#include "passes/Lower/Gpu/GpuKernels.h"

namespace kedge::lower::gpu {

struct GroupCounts {
  int64_t launches = 0; ///< that joined others
  int64_t groups = 0;   ///< that they became
};

/// In each function of the schedule: joins launches that write nothing but states in the arena and whose
/// `sched.flat` names the same function of `kernels`, and those of one kernel with few blocks. Each moves
/// down to the next of its kind, where no launch between touches what it writes or writes what it reads.
/// Offsets stay, so the arena does; lifetimes are numbered anew. Flat functions and kernels that only joined
/// launches ran are erased.
/// With `beside`, so many products follow a group before a launch that must wait for it, if that many follow
/// at all: single launches that can run beside them stay single.
GroupCounts groupLaunches(mlir::ModuleOp schedule, mlir::gpu::GPUModuleOp kernels, int64_t beside = 0);

/// The launch table's entry of a kernel (include/kedge/abi/program.md).
mlir::Attribute kernelAttr(mlir::Builder &builder, const KernelLaunch &kernel);

} // namespace kedge::lower::gpu
