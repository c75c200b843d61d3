#include "lib/Analysis/MovedStates.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Analysis/LaunchCost.h"
#include "lib/Analysis/LibraryCall.h"

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

std::optional<OffloadKind> offloadKindOf(train::Role role) {
  switch (role) {
  case train::Role::Moment1:
  case train::Role::Moment2:
  case train::Role::Momentum:
  case train::Role::State:
  case train::Role::Average:
  case train::Role::Residual:
    return OffloadKind::Optimizer;
  case train::Role::Accumulator:
    return OffloadKind::Gradients;
  case train::Role::Parameter:
  case train::Role::Frozen:
    return OffloadKind::Params;
  default:
    return std::nullopt;
  }
}

} // namespace

std::optional<Offload> offloadTarget(llvm::ArrayRef<Offload> offloads, train::StateOp state) {
  if (cast<RankedTensorType>(state.getType()).getRank() == 0)
    return std::nullopt;
  for (const Offload &offload : offloads)
    if (offload.kind == offloadKindOf(state.getRole()))
      return offload;
  return std::nullopt;
}

MovedStates movedStates(ModuleOp module, const std::vector<Offload> &offloads, const DeviceModel &device) {
  MovedStates moved;
  const DenseSet<StringAttr> updated = updatedStates(module);
  for (auto state : module.getOps<train::StateOp>()) {
    const auto target = offloadTarget(offloads, state);
    if (!target)
      continue;
    const int64_t bytes = kedge::bytesOf(state.getType());
    moved.bytes += static_cast<int64_t>(llvm::alignTo(bytes, arenaAlignment(module)));
    if (updated.contains(state.getSymNameAttr()) && target->kind != OffloadKind::Gradients)
      moved.seconds += 2 * secondsOf(transferCost(bytes, !target->directory.empty()), device);
  }
  return moved;
}

} // namespace kedge::analysis
