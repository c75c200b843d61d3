#include "kedge/Analysis/LibraryCall.h"
#include "kedge/Support/AttrJson.h"

namespace kedge::analysis {
namespace {

rt::TensorDesc describe(mlir::Type type) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  return {rt::parseDType(dtypeName(tensor.getElementType())), {tensor.getShape().begin(), tensor.getShape().end()}};
}

} // namespace

rt::LibraryCall libraryCallOf(sched::LibraryOp op) {
  rt::LibraryCall call{op.getKernel().str(), toJson(op.getAttrs()), {}, {}};
  for (mlir::Value input : op.getInputs())
    call.inputs.push_back(describe(input.getType()));
  for (mlir::Value output : op.getOutputs())
    call.outputs.push_back(describe(output.getType()));
  return call;
}

} // namespace kedge::analysis
