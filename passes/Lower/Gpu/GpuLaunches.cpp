#include "passes/Lower/Gpu/GpuLaunches.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

LogicalResult
kedge::lower::gpu::forEachLaunch(ModuleOp schedule, GpuEmitter &emitter, Convolutions convolutions,
                                 bool withCalls,
                                 function_ref<LogicalResult(Operation *, const LaunchCode &)> take) {
  int64_t refused = 0;
  schedule.walk([&](Operation *op) {
    if (!isa<sched::ClusterOp>(op) && !(withCalls && isa<sched::LibraryOp>(op)))
      return;
    FailureOr<LaunchCode> code = emitter.emitLaunch(op, convolutions);
    if (failed(code) || failed(take(op, *code)))
      ++refused;
  });
  if (refused == 0)
    return success();
  return emitError(schedule.getLoc())
         << refused << " launches have no kernel for CUDA (above); compile with --target cpu";
}
