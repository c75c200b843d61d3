// The folds of one pass: what a thread folds by itself, and how the threads of a team join their results.
#pragma once
#include "passes/Lower/Gpu/OnlineSums.h"
#include "passes/Lower/Gpu/thread/ThreadScalars.h"

namespace kedge::lower::gpu {

/// Halves the list until one is left: the order depends on its length only.
mlir::Value foldTree(ScalarOps &ops, sched::FoldKind kind, BodyWalk::Values values);

class TeamFolds {
public:
  using Values = BodyWalk::Values;

  TeamFolds(ScalarOps &ops, mlir::gpu::GPUFuncOp kernel, ThreadPlace &place, ThreadScalars &scalars)
      : ops(ops), b(ops.builder), loc(ops.loc), kernel(kernel), place(place), nest(place.nest),
        plan(place.plan), scalars(scalars) {}

  /// Those of a pass; what they fold is all that is wanted.
  void begin(unsigned pass);
  /// Accumulators for every slot: those of plain folds, then a maximum and sums for each online sum.
  Values identities();
  /// The units in hand, added to the accumulators.
  Values accumulate(Values accumulators);
  /// The accumulators become what the folds give, the same in all threads of the team.
  void finish(mlir::ArrayRef<mlir::Value> accumulators);
  /// The same of the units in hand alone, which are all there are. There are no online sums then.
  void finishInRegisters();

private:
  unsigned lanesOfFold(sched::ReduceOp fold) const;
  mlir::Value foldedOfSlot(sched::ReduceOp fold, unsigned slot);
  mlir::Value tree(sched::FoldKind kind, Values values) { return foldTree(ops, kind, std::move(values)); }
  mlir::Value horizontal(sched::FoldKind kind, mlir::Value vector);
  mlir::Value ofThread(sched::ReduceOp fold, Values values);
  /// Of `joined`, a result of this thread each.
  using Folds = mlir::ArrayRef<sched::ReduceOp>;
  void joinTeam(Folds joined, Values &results);
  void joinWarps(Folds joined, Values &results);
  void joinRows(Folds joined, Values &results);
  mlir::Value shuffle(mlir::Value value, unsigned distance);
  mlir::Value joinLanes(sched::FoldKind kind, mlir::Value value, unsigned threads);
  // Maxima with the sums beside them
  void accumulatePair(sched::ReduceOp sum, mlir::Value &maximum, mlir::MutableArrayRef<mlir::Value> sums);
  void joinPairs(mlir::ArrayRef<mlir::Value> maxima, Values results);
  mlir::Value number(int64_t value) { return place.number(value); }

  ScalarOps &ops;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::gpu::GPUFuncOp kernel;
  ThreadPlace &place;
  const ClusterNest &nest;
  const GpuPlan &plan;
  ThreadScalars &scalars;
  llvm::SmallVector<sched::ReduceOp> folds;
  llvm::SmallVector<sched::ReduceOp> onlineSums; ///< they and their maxima are not in `folds`
};

} // namespace kedge::lower::gpu
