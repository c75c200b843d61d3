// Where in a nest the code stands that is being emitted.
#pragma once
#include "passes/Lower/Cpu/LoopPlan.h"

namespace kedge::lower {

/// Elements [base, base + (copies - 1) * width + lastLanes) of the dim in lanes.
struct LaneStep {
  mlir::Value base; ///< i64
  unsigned copies = 1;
  unsigned lastLanes = 1;
};

/// The dims that loops around this place walk. A scalar of the cluster is one register value here, or
/// `copies` vectors where it varies along the lanes.
struct NestPosition {
  NestPosition(const ClusterNest &nest, const LoopPlan &plan)
      : nest(nest), plan(plan), indices(nest.rank()), entered(nest.rank()) {}

  void enter(unsigned dim, mlir::Value index) {
    indices[dim] = index;
    entered.set(dim);
  }
  void leave(unsigned dim) { entered.reset(dim); }
  bool isEntered(mlir::Value v) const { return !nest.dims.find(v)->second.test(entered); }

  bool isInLanes(mlir::Value v) const { return nest.has(v, plan.lanesDim); }
  unsigned copiesOf(mlir::Value v) const { return isInLanes(v) ? step.copies : 1; }
  unsigned lanesOf(mlir::Value v) const { return isInLanes(v) ? plan.width : 1; }
  /// Whether some lanes of the copy lie past the end.
  bool isMasked(unsigned copy) const { return copy + 1 == step.copies && step.lastLanes < plan.width; }
  unsigned lanesOfCopy(unsigned copy) const { return isMasked(copy) ? step.lastLanes : plan.width; }

  const ClusterNest &nest;
  const LoopPlan &plan;
  llvm::SmallVector<mlir::Value> indices; ///< of entered dims; of the one in lanes: step.base
  llvm::SmallBitVector entered;
  LaneStep step;
};

} // namespace kedge::lower
