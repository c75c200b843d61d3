#include "passes/Pipeline/SplitByStage.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "mlir/IR/Builders.h"
#include <map>

using namespace mlir;

namespace kedge::pipeline {
namespace {

/// The same collective of some of its tensors: operand i and result i belong together.
Operation *ofSome(OpBuilder &builder, Operation *op, ArrayRef<unsigned> tensors) {
  OperationState state(op->getLoc(), op->getName());
  for (unsigned index : tensors) {
    state.addOperands(op->getOperand(index));
    state.addTypes(op->getResult(index).getType());
  }
  state.addAttributes(op->getAttrs());
  Operation *part = builder.create(state);
  for (auto [index, result] : llvm::zip(tensors, part->getResults()))
    op->getResult(index).replaceAllUsesWith(result);
  return part;
}

} // namespace

SmallVector<std::pair<Operation *, int64_t>> splitByStage(Operation *op,
                                                          llvm::function_ref<int64_t(Value)> stageOf) {
  if (!isa<dist::DistDialect>(op->getDialect()) || op->getNumOperands() < 2 ||
      op->getNumOperands() != op->getNumResults())
    return {};
  std::map<int64_t, SmallVector<unsigned>> byStage;
  for (OpOperand &operand : op->getOpOperands())
    byStage[stageOf(operand.get())].push_back(operand.getOperandNumber());
  if (byStage.size() < 2)
    return {};
  OpBuilder builder(op);
  SmallVector<std::pair<Operation *, int64_t>> parts;
  for (const auto &[stage, tensors] : byStage)
    parts.emplace_back(ofSome(builder, op, tensors), stage);
  op->erase();
  return parts;
}

} // namespace kedge::pipeline
