// The body of a GPU kernel: what one thread does.
#pragma once
#include "passes/Lower/Gpu/BlockSums.h"
#include "passes/Lower/Gpu/TeamReductions.h"

namespace kedge::lower::gpu {

/// Emits the code of a thread: its group, its share of the group's units in passes that reduce, the team's
/// join of each reduction, the stores.
class ThreadEmitter {
public:
  /// The kernel's arguments are the nest's inputs, then its outputs.
  ThreadEmitter(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, ClusterNest &nest,
                const GpuPlan &plan);
  void emit();

private:
  using Values = BodyWalk::Values;
  /// Takes accumulators and gives them.
  using Leaf = llvm::function_ref<Values(Values)>;

  void group();
  /// The rows of a block, and their sums behind the last.
  void rowsInTurn();
  void reductionPass(unsigned pass);
  void pointPass();
  void storeRows();
  /// All units of the group that are this thread's.
  Values overUnits(Values accumulators, Leaf leaf);
  Values unitLoop(mlir::Value from, mlir::Value to, bool masked, Values accumulators, Leaf leaf);
  /// Numbers of the outputs that have an element for each unit, stored while this pass runs; `nest.passes`:
  /// behind all reductions.
  llvm::SmallVector<unsigned> pointsOf(unsigned pass);
  /// Those of a group.
  llvm::SmallVector<unsigned> rowOutputs();
  void want(llvm::ArrayRef<unsigned> outputs);
  /// Of the slots that threads stand in.
  void storePoints(llvm::ArrayRef<unsigned> outputs);
  void store(unsigned output, unsigned copy);
  mlir::Value number(int64_t value) { return position.number(value); }

  mlir::OpBuilder &b;
  mlir::Location loc;
  ClusterNest &nest;
  const GpuPlan &plan;
  ScalarOps ops;
  ThreadPosition position;
  ThreadMemory memory;
  ThreadScalars scalars;
  TeamReductions reductions;
  BlockSums sums;
  Values totals; ///< of the rows so far
};

} // namespace kedge::lower::gpu
