// The launches of a step as a graph, for the bound on any schedule of them.
#pragma once
#include "lib/Analysis/DeviceModel.h"
#include "lib/Solver/Mesh/StepBound.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace kedge::analysis {

/// The ops of a function of level 3, in order; those that launch nothing take no time.
std::vector<solver::StepTask> tasksOf(mlir::func::FuncOp function, const DeviceModel &device);

/// Seconds of a step that take part in it on any mesh, in any ZeRO stage: products and their kin, and 95 % of
/// what computes for them. What is behind the last product, such as sums of gradients and updates, may be
/// divided among ranks; and what fuses with it makes the difference of the other 5 %. The module is of one
/// rank.
double commonSeconds(mlir::ModuleOp module, const DeviceModel &device, int64_t accumulate);

/// Of that, the products, without what may be fused with them.
double productSeconds(mlir::ModuleOp module, const DeviceModel &device, int64_t accumulate);

/// The least share that the forward has of the products of a node of the model; 0 without any. Stages of a
/// pipeline have whole nodes, so the forward of a stage has at least this share of its products.
double leastForwardShare(mlir::ModuleOp module, const DeviceModel &device);

/// Of a micro-batch: what its chain of collectives sends, whatever else it computes.
solver::StepChain longestChain(mlir::ModuleOp module, const DeviceModel &device);

/// Seconds that no plan of a level-3 module's step is below, as stepCost less the hidden part of overlapOf
/// counts them: whatever the order, whatever is computed again. The module is not rematerialized yet.
double stepLowerBound(mlir::ModuleOp module, const DeviceModel &device, int64_t accumulate);

} // namespace kedge::analysis
