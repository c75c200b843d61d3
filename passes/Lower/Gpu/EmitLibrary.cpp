#include "passes/Lower/Gpu/LibraryKernels.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

bool GpuEmitter::isRuntimeCall(sched::LibraryOp call) {
  return llvm::StringSwitch<bool>(call.getKernel())
      .Cases({"onnx.MatMul", "onnx.Gemm", "onnx.Conv", "onnx.ConvTranspose", "train.ConvGradInput",
              "train.ConvGradWeight", "train.ConvTransposeGradInput", "train.ConvTransposeGradWeight"},
             true)
      .Default(false);
}

FailureOr<LaunchCode> GpuEmitter::emit(sched::LibraryOp call) {
  if (LibraryGenerator generate = libraryGenerator(call.getKernel()))
    return generate(*this, call);
  if (isRuntimeCall(call))
    return call.emitOpError("has no generated kernel: the runtime calls a library for ") << call.getKernel();
  return call.emitOpError("has no kernel for CUDA: ")
         << call.getKernel() << " runs with --target cpu only; compile for it, or replace the operator";
}
