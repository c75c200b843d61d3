#include "lib/Analysis/OpSeconds.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/BuildCluster.h"
#include "kedge/Interfaces/DecomposableOpInterface.h"
#include "kedge/Interfaces/ViewOpInterface.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Analysis/LaunchCost.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace kedge::analysis {
namespace {

/// A copy of an op in a module of its own, with constants that it reads.
OwningOpRef<ModuleOp> alone(Operation *op) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
  auto type = builder.getFunctionType(op->getOperandTypes(), {});
  auto function = func::FuncOp::create(builder, op->getLoc(), "alone", type);
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (Operation *producer = operand.getDefiningOp(); producer && matchPattern(producer, m_Constant()))
      mapping.map(operand, builder.clone(*producer)->getResult(0));
    else
      mapping.map(operand, function.getArgument(static_cast<unsigned>(index)));
  builder.clone(*op, mapping);
  return module;
}

bool isWritten(Operation *op, TargetKind target) {
  auto composite = dyn_cast<DecomposableOpInterface>(op);
  return composite && !composite.hasKernelOn(target);
}

/// Writes composites as other ops, as kedge-decompose will; false where one cannot be.
bool decompose(func::FuncOp function, TargetKind target) {
  for (Operation *op = &function.getBody().front().front(); op;) {
    if (!isWritten(op, target)) {
      op = op->getNextNode();
      continue;
    }
    PlacedBuilder builder(op);
    Operation *before = op->getPrevNode();
    SmallVector<Value> results;
    if (failed(cast<DecomposableOpInterface>(op).decompose(builder, results)))
      return false;
    op->replaceAllUsesWith(results);
    op->erase();
    Block &block = function.getBody().front();
    op = before ? before->getNextNode() : block.empty() ? nullptr : &block.front();
  }
  return true;
}

} // namespace

OpSeconds::OpSeconds(const std::string &name) : device(loadDevice(name)) {}

double OpSeconds::of(Operation *op) {
  auto types = FunctionType::get(op->getContext(), op->getOperandTypes(), op->getResultTypes());
  const Key key{op->getName().getAsOpaquePointer(), attributesWithoutPlace(op).getAsOpaquePointer(),
                types.getAsOpaquePointer()};
  auto found = known.find(key);
  if (found == known.end())
    found = known.emplace(key, secondsOf(op)).first;
  return found->second;
}

double OpSeconds::secondsOf(Operation *op) const {
  if (matchPattern(op, m_Constant()) || isa<ViewOpInterface>(op) || op->getNumResults() == 0)
    return 0;
  return isClusterable(op) ? secondsOfWriting(op) : secondsOfParts(op);
}

double OpSeconds::secondsOfParts(Operation *op) const {
  ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module = alone(op);
  auto function = *module->getOps<func::FuncOp>().begin();
  if (!decompose(function, device.isProcessor() ? TargetKind::Cpu : TargetKind::Cuda))
    return secondsOfWriting(op); // kedge-decompose will report it
  double seconds = 0;
  for (Operation &part : llvm::make_early_inc_range(function.getBody().front())) {
    if (matchPattern(&part, m_Constant()) || isa<ViewOpInterface>(part) || part.getNumResults() == 0)
      continue;
    if (isClusterable(&part)) {
      seconds += secondsOfWriting(&part);
      continue;
    }
    PlacedBuilder builder(&part);
    seconds += analysis::secondsOf(costOf(buildLibraryCall(builder, &part)), device);
  }
  return seconds;
}

double OpSeconds::secondsOfWriting(Operation *op) const {
  LaunchCost cost;
  cost.kind = WorkKind::Vector;
  for (Type type : op->getResultTypes())
    cost.bytesWritten += static_cast<double>(kedge::bytesOf(type));
  return analysis::secondsOf(cost, device) - device.launchSeconds;
}

} // namespace kedge::analysis
