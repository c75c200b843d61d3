// Every launch of a schedule, as the GPU runs it.
#pragma once
#include "passes/Lower/Gpu/GpuKernels.h"

namespace kedge::lower::gpu {

/// Gives `take` each cluster and library call (`withCalls`) with its code, which the emitter makes or only
/// plans. Fails after diagnostics at all launches that have none.
mlir::LogicalResult
forEachLaunch(mlir::ModuleOp schedule, GpuEmitter &emitter, Convolutions convolutions, bool withCalls,
              llvm::function_ref<mlir::LogicalResult(mlir::Operation *, const LaunchCode &)> take);

} // namespace kedge::lower::gpu
