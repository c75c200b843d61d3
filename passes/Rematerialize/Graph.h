// A scheduled function as the rematerialization solver sees it.
#pragma once
#include "kedge/Dialect/Sched/SchedOps.h"
#include "kedge/Solver/Rematerialization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kedge::remat {

/// Nodes are the launches in their order, then, for clusters with several results, one node for each result that can
/// be computed alone (see ResultSlice.h). Values are what launches and inputs put into the transient region: results
/// that live in persistent places have no bytes, state and constants are no values at all.
struct Graph {
  struct Node {
    mlir::Operation *op = nullptr;
    int result = -1; ///< of a cluster with several; -1: the launch as it is
  };
  mlir::func::FuncOp function;
  solver::RematProblem problem;
  std::vector<Node> nodes;         ///< beside problem.nodes
  std::vector<mlir::Value> values; ///< beside problem.values; no views
  llvm::DenseMap<mlir::Value, int> valueOf;
  std::vector<bool> forward; ///< launches that the loss follows from; in a function without gradients, none
};

struct GraphCosts {
  llvm::function_ref<double(mlir::Operation *)> seconds;
  llvm::function_ref<mlir::FailureOr<int64_t>(mlir::Operation *)> workspace;
};

/// Needs kedge-bind-results. Costs may be left out where only the structure matters (all are 1 then). Node and value
/// numbers follow from the function alone.
mlir::FailureOr<Graph> buildGraph(mlir::func::FuncOp function, const GraphCosts *costs = nullptr);

} // namespace kedge::remat
