// The reductions of one pass: what a thread reduces by itself, and how the threads of a team join their
// results.
#pragma once
#include "passes/Lower/Gpu/OnlineSums.h"
#include "passes/Lower/Gpu/thread/ThreadScalars.h"

namespace kedge::lower::gpu {

/// Halves the list until one is left: the order depends on its length only.
mlir::Value reduceTree(ScalarOps &ops, sched::ReductionKind kind, BodyWalk::Values values);

class TeamReductions {
public:
  using Values = BodyWalk::Values;

  TeamReductions(ScalarOps &ops, mlir::gpu::GPUFuncOp kernel, ThreadPosition &position,
                 ThreadScalars &scalars)
      : ops(ops), b(ops.builder), loc(ops.loc), kernel(kernel), position(position), nest(position.nest),
        plan(position.plan), scalars(scalars) {}

  /// Those of a pass; what they reduce is all that is wanted.
  void begin(unsigned pass);
  /// Accumulators for every slot: those of plain reductions, then a maximum and sums for each online sum.
  Values identities();
  /// The units in hand, added to the accumulators.
  Values accumulate(Values accumulators);
  /// The accumulators become what the reductions give, the same in all threads of the team.
  void finish(mlir::ArrayRef<mlir::Value> accumulators);
  /// The same of the units in hand alone, which are all there are. There are no online sums then.
  void finishInRegisters();

private:
  unsigned lanesOfReduction(sched::ReduceOp reduction) const;
  mlir::Value foldedOfSlot(sched::ReduceOp reduction, unsigned slot);
  mlir::Value tree(sched::ReductionKind kind, Values values) {
    return reduceTree(ops, kind, std::move(values));
  }
  mlir::Value horizontal(sched::ReductionKind kind, mlir::Value vector);
  mlir::Value ofThread(sched::ReduceOp reduction, Values values);
  /// Of `joined`, a result of this thread each.
  using Reductions = mlir::ArrayRef<sched::ReduceOp>;
  void joinTeam(Reductions joined, Values &results);
  void joinWarps(Reductions joined, Values &results);
  void joinRows(Reductions joined, Values &results);
  mlir::Value shuffle(mlir::Value value, unsigned distance);
  mlir::Value joinLanes(sched::ReductionKind kind, mlir::Value value, unsigned threads);
  // Maxima with the sums beside them
  void accumulatePair(sched::ReduceOp sum, mlir::Value &maximum, mlir::MutableArrayRef<mlir::Value> sums);
  void joinPairs(mlir::ArrayRef<mlir::Value> maxima, Values results);
  mlir::Value number(int64_t value) { return position.number(value); }

  ScalarOps &ops;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::gpu::GPUFuncOp kernel;
  ThreadPosition &position;
  const ClusterNest &nest;
  const GpuPlan &plan;
  ThreadScalars &scalars;
  llvm::SmallVector<sched::ReduceOp> reductions;
  llvm::SmallVector<sched::ReduceOp> onlineSums; ///< they and their maxima are not in `reductions`
};

} // namespace kedge::lower::gpu
