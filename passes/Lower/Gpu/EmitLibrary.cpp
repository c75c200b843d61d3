#include "kedge/Analysis/LibraryCall.h"
#include "passes/Lower/Gpu/LibraryKernels.h"
#include "runtime/calls/LibraryWork.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

bool GpuEmitter::isRuntimeCall(sched::LibraryOp call, Convolutions convolutions) {
  std::string kernel = call.getKernel().str();
  if (rt::cuda::isConvolution(kernel))
    return convolutions == Convolutions::Cudnn && rt::cuda::cudnnTakes(analysis::libraryCallOf(call));
  return rt::cuda::isProduct(kernel);
}

FailureOr<LaunchCode> GpuEmitter::emit(sched::LibraryOp call) {
  if (LibraryGenerator generate = libraryGenerator(call.getKernel()))
    return generate(*this, call);
  return call.emitOpError("has no kernel for CUDA: ")
         << call.getKernel() << " runs with --target cpu only; compile for it, or replace the operator";
}
