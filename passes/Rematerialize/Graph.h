// A scheduled function as the rematerialization solver sees it.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "lib/Solver/Remat/Rematerialization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::remat {

/// Nodes are the launches in their order, then one for each value of the function's `sched.offloadable` that
/// copies it back from host memory, then, for clusters with several results, one for each result that can be
/// computed alone (see ResultSlice.h). Values are what launches and inputs put into the transient region:
/// results that live in persistent places have no bytes, state and constants are no values at all, what lies
/// in host memory has no bytes.
///
/// A value that may be fetched has its copy in host memory as a further result of the launch that makes it.
/// Copying it out right behind that launch, where it is fetched at all, takes no byte that the launch itself
/// did not take; what it costs is counted with the fetch.
struct RecomputeGraph {
  struct Node {
    mlir::Operation *op = nullptr;
    int result = -1;  ///< of a cluster with several; -1: the launch as it is
    int fetched = -1; ///< the value that is copied back; `op` made it
    bool isLaunch() const { return result < 0 && fetched < 0; }
  };
  mlir::func::FuncOp function;
  solver::RematProblem problem;
  std::vector<Node> nodes; ///< beside problem.nodes
  std::vector<mlir::Value>
      values; ///< beside problem.values; no views; a copy in host memory: what it is a copy of
  std::vector<bool> isHostCopy; ///< beside problem.values
  llvm::DenseMap<mlir::Value, int> valueOf;
  std::vector<bool> forward; ///< launches that the loss follows from; in a function without gradients, none
};

struct GraphCosts {
  llvm::function_ref<double(mlir::Operation *)> seconds;
  llvm::function_ref<double(int64_t bytes)> transfer; ///< seconds, one way
  llvm::function_ref<mlir::FailureOr<int64_t>(mlir::Operation *)> workspace;
  /// A result alone takes the time of the cluster that would make it; else a share of that of all, which
  /// takes less work to find.
  bool ofResults = false;
};

/// Needs kedge-bind-results. Costs may be left out where only the structure matters (all are 1 then). Node
/// and value numbers follow from the function alone.
mlir::FailureOr<RecomputeGraph> buildGraph(mlir::func::FuncOp function, const GraphCosts *costs = nullptr);

} // namespace kedge::remat
