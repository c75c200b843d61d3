#include "lib/Analysis/LibraryCall.h"
#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "kedge/Interfaces/LinkedKernelOpInterface.h"
#include "lib/Support/AttrJson.h"
#include "runtime/calls/LibraryKernel.h"
#include "runtime/io/Error.h"

namespace kedge::analysis {

rt::TensorDesc tensorDescOf(mlir::Type type) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  return {rt::parseDType(dtypeName(tensor.getElementType())),
          {tensor.getShape().begin(), tensor.getShape().end()}};
}

rt::calls::LibraryCall libraryCallOf(sched::LibraryOp op) {
  rt::calls::LibraryCall call{op.getKernel().str(), kedge::toJson(op.getAttrs()), {}, {}};
  for (mlir::Value input : op.getInputs())
    call.inputs.push_back(tensorDescOf(input.getType()));
  for (mlir::Value output : op.getOutputs())
    call.outputs.push_back(tensorDescOf(output.getType()));
  return call;
}

mlir::FailureOr<int64_t> workspaceOf(mlir::Operation *launch, int threads) {
  if (auto noted = sched::WorkspaceNote(launch->getContext()).getAttr(launch))
    return noted.getInt();
  auto library = mlir::dyn_cast<sched::LibraryOp>(launch);
  if (!library || targetOf(launch->getParentOfType<mlir::ModuleOp>()) != TargetKind::Cpu)
    return 0;
  if (linkedKernelOf(launch->getContext(), library.getKernel())) // takes none
    return 0;
  try {
    return static_cast<int64_t>(rt::calls::makeKernel(libraryCallOf(library), threads)->workspaceBytes());
  } catch (const rt::RuntimeError &error) {
    return library.emitOpError() << "'" << library.getKernel()
                                 << "' has no kernel on this target: " << error.what();
  }
}

int64_t arenaAlignment(mlir::ModuleOp module) {
  constexpr int64_t kHost = 64;
  constexpr int64_t kGpu = 256; // what the fastest products ask of their operands
  return targetOf(module) == TargetKind::Cuda ? kGpu : kHost;
}

int64_t arenaBytes(mlir::Operation *op, int64_t bytes) {
  auto module = mlir::dyn_cast<mlir::ModuleOp>(op);
  return llvm::alignTo(bytes, arenaAlignment(module ? module : op->getParentOfType<mlir::ModuleOp>()));
}

} // namespace kedge::analysis
