#include "lib/Analysis/MovedStates.h"
#include "lib/Analysis/LaunchCost.h"
#include "lib/Analysis/LibraryCall.h"
#include "lib/Dialect/Sched/InPlace.h"
#include "lib/Dialect/Train/Bindings.h"
#include "lib/Dialect/Train/FunctionKind.h"
#include "lib/Support/StorageBytes.h"

using namespace mlir;

namespace kedge::analysis {
namespace {

/// States that a run of the step gives another value.
DenseSet<StringAttr> updatedStates(ModuleOp module) {
  DenseSet<StringAttr> updated;
  for (auto function : module.getOps<func::FuncOp>()) {
    const auto kind = train::kindOf(function);
    if (function.isExternal() || !kind || train::runsInStep(*kind, 1) + train::runsInStep(*kind, 2) == 0)
      continue;
    for (OpOperand &returned : function.getBody().front().getTerminator()->getOpOperands())
      if (auto state = train::stateOfResult(function, returned.getOperandNumber());
          state && !isa<BlockArgument>(sched::rootOf(returned.get())))
        updated.insert(state.getAttr());
  }
  return updated;
}

} // namespace

llvm::StringRef offloadKindOf(train::Role role) {
  switch (role) {
  case train::Role::Moment1:
  case train::Role::Moment2:
  case train::Role::Momentum:
  case train::Role::State:
  case train::Role::Average:
  case train::Role::Residual:
    return "optimizer";
  case train::Role::Accumulator:
    return "gradients";
  case train::Role::Parameter:
  case train::Role::Frozen:
    return "params";
  default:
    return "";
  }
}

MovedStates movedStates(ModuleOp module, const std::vector<std::string> &kinds, const DeviceModel &device) {
  MovedStates moved;
  const DenseSet<StringAttr> updated = updatedStates(module);
  for (auto state : module.getOps<train::StateOp>()) {
    const StringRef kind = offloadKindOf(state.getRole());
    if (cast<RankedTensorType>(state.getType()).getRank() == 0 || !llvm::is_contained(kinds, kind))
      continue;
    const int64_t bytes = kedge::bytesOf(state.getType());
    moved.bytes += static_cast<int64_t>(llvm::alignTo(bytes, arenaAlignment(module)));
    if (updated.contains(state.getSymNameAttr()) && kind != "gradients")
      moved.seconds += 2 * secondsOf(transferCost(bytes), device);
  }
  return moved;
}

} // namespace kedge::analysis
