#include "kedge/Dialect/Sched/InPlace.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge::sched;

#include "kedge/Dialect/Sched/SchedDialect.cpp.inc"
#include "kedge/Dialect/Sched/SchedAttrsEnums.cpp.inc"
#define GET_OP_CLASSES
#include "kedge/Dialect/Sched/SchedOps.cpp.inc"

void SchedDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "kedge/Dialect/Sched/SchedOps.cpp.inc"
      >();
}

namespace {
Type scalarOf(Type tensor) {
  Type element = cast<RankedTensorType>(tensor).getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

LogicalResult checkMaps(ClusterOp op, ArrayAttr maps, ValueRange tensors, StringRef what) {
  if (maps.size() != tensors.size())
    return op.emitOpError("has ") << maps.size() << " " << what << " maps for " << tensors.size() << " tensors";
  for (auto [attr, tensor] : llvm::zip(maps, tensors)) {
    AffineMap map = cast<AffineMapAttr>(attr).getValue();
    if (map.getNumDims() != op.getDomain().size() || map.getNumSymbols() != 0)
      return op.emitOpError("has an ") << what << " map " << attr << " over another domain";
    if ((int64_t)map.getNumResults() != cast<RankedTensorType>(tensor.getType()).getRank())
      return op.emitOpError("has an ") << what << " map " << attr << " for " << tensor.getType();
  }
  return success();
}
} // namespace

LogicalResult OffloadOp::verify() {
  for (Operation *user : getResult().getUsers())
    if (!isa<FetchOp>(user) && !user->hasTrait<OpTrait::IsTerminator>())
      return emitOpError("makes a value in host memory, which a launch reads: only sched.fetch and the return may")
                 .attachNote(user->getLoc())
             << "read here";
  return success();
}

LogicalResult FetchOp::verify() {
  Value root = rootOf(getInput());
  if (root.getDefiningOp() && !root.getDefiningOp<OffloadOp>())
    return emitOpError("reads a value that is not in host memory: expected the result of sched.offload or a state");
  return success();
}

LogicalResult ClusterOp::verify() {
  if (failed(checkMaps(*this, getInputMaps(), getInputs(), "input")) ||
      failed(checkMaps(*this, getOutputMaps(), getOutputs(), "output")))
    return failure();
  for (int64_t dim : getReduced())
    if (dim < 0 || dim >= (int64_t)getDomain().size())
      return emitOpError("reduces dim ") << dim << " of a domain of rank " << getDomain().size();
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("body takes ") << block.getNumArguments() << " scalars for " << getInputs().size() << " inputs";
  for (auto [argument, input] : llvm::zip(block.getArguments(), getInputs()))
    if (argument.getType() != scalarOf(input.getType()))
      return emitOpError("body argument ") << argument.getType() << " for input " << input.getType();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getNumOperands() != getOutputs().size())
    return emitOpError("body must yield one scalar an output");
  for (auto [value, output] : llvm::zip(yield.getOperands(), getOutputs()))
    if (value.getType() != scalarOf(output.getType()))
      return emitOpError("body yields ") << value.getType() << " for output " << output.getType();
  return success();
}
