#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "kedge/Dialect/Train/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Lower/Gpu/GpuLaunches.h"
#include "passes/Lower/Passes.h"

namespace kedge::lower {
#define GEN_PASS_DEF_NOTEWORKSPACES
#include "passes/Lower/Passes.h.inc"

namespace {
using namespace mlir;

struct NoteWorkspaces : impl::NoteWorkspacesBase<NoteWorkspaces> {
  using NoteWorkspacesBase::NoteWorkspacesBase;

  void run() override {
    Builder builder(&getContext());
    TargetNote(&getContext()).setAttr(getOperation(), builder.getStringAttr(wordOf(TargetKind::Cuda)));
    gpu::GpuEmitter planner = gpu::GpuEmitter::planner();
    int64_t launches = 0, bytes = 0;
    auto note = [&](Operation *launch, const gpu::LaunchCode &code) {
      sched::WorkspaceNote(&getContext()).setAttr(launch, builder.getI64IntegerAttr(code.workspaceBytes));
      launches += code.workspaceBytes > 0;
      bytes = std::max(bytes, code.workspaceBytes);
      return success();
    };
    if (failed(gpu::forEachLaunch(getOperation(), planner, convolutions, /*withCalls=*/true, note)))
      return signalPassFailure();
    addStatistic("launches with a workspace", launches);
    addStatistic("largest workspace bytes", bytes);
  }
};

} // namespace
} // namespace kedge::lower
