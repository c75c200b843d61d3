#include "kedge/Dialect/Train/EpilogueOps.h"
#include "lib/Analysis/LibraryCall.h"
#include "passes/Base/KedgePass.h"
#include "passes/Lower/Gpu/LibraryKernels.h"
#include "runtime/calls/LibraryWork.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

bool GpuEmitter::isRuntimeCall(sched::LibraryOp call, Convolutions convolutions) {
  std::string kernel = call.getKernel().str();
  if (rt::calls::isConvolution(kernel)) {
    const auto types =
        convolutions == Convolutions::Cudnn ? rt::calls::CudnnTypes::All : rt::calls::CudnnTypes::Wide;
    return convolutions != Convolutions::Generated &&
           rt::calls::cudnnTakes(analysis::libraryCallOf(call), types);
  }
  return rt::calls::isMatmul(kernel) || rt::calls::isAmongRanks(kernel);
}

FailureOr<LaunchCode> GpuEmitter::emit(sched::LibraryOp call) {
  if (LibraryGenerator generate = libraryGenerator(call.getKernel()))
    return generate(*this, call);
  return call.emitOpError("has no kernel for CUDA: ")
         << call.getKernel() << " runs with --target cpu only; compile for it, or replace the operator";
}

FailureOr<LaunchCode> GpuEmitter::emitLaunch(Operation *launch, Convolutions convolutions) {
  if (auto cluster = dyn_cast<sched::ClusterOp>(launch))
    return emit(cluster);
  auto call = cast<sched::LibraryOp>(launch);
  if (!isRuntimeCall(call, convolutions))
    return emit(call);
  LaunchCode code;
  if (call.calls<train::FusedProductOp>()) {
    FailureOr<LaunchCode> epilogue = emitEpilogue(call);
    if (failed(epilogue))
      return failure();
    code = std::move(*epilogue);
  }
  code.isRuntimeCall = true;
  const auto plan = [&] {
    const auto planned =
        static_cast<int64_t>(rt::calls::plannedWorkspaceBytes(analysis::libraryCallOf(call)));
    code.workspaceBytes = std::max(code.workspaceBytes, planned);
  };
  const auto report = [&](const char *text) { call.emitOpError("has no kernel for CUDA: ") << text; };
  return failed(reportingFailures(plan, report)) ? FailureOr<LaunchCode>() : std::move(code);
}
