// What budgets and overheads are shares of, and what the module is told of the choice: #sched.recompute.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Rematerialize/PlanChooser.h"

namespace kedge::remat {

/// The peak and the time that budgets and overheads are shares of: those of the module now or, when the pass
/// ran before states were moved to host memory, those of that run.
struct RecomputeReference {
  int64_t peak = 0, transient = 0; ///< bytes
  double seconds = 0;
};

/// `held`: bytes that the module holds whatever is chosen (analysis::heldBytes).
RecomputeReference recomputeReference(mlir::ModuleOp module, llvm::ArrayRef<RecomputeChoice> choices,
                                      int64_t held);

struct RecomputeFacts {
  std::string policy;
  int64_t held = 0;
  std::optional<int64_t> limit; ///< bytes of the arena
  RecomputeReference reference;
  int frontier = 0; ///< points
};

/// Sets `sched.recompute`.
void noteRecompute(mlir::ModuleOp module, std::vector<RecomputeChoice> &choices, const RecomputeFacts &facts,
                   PlanChooser &chooser);

} // namespace kedge::remat
