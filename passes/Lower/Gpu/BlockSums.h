// Sums over the rows of a block (sched.sum): what a thread adds up by itself, and how the teams of a block
// join theirs.
#pragma once
#include "passes/Lower/Gpu/thread/ThreadScalars.h"

namespace kedge::lower::gpu {

class BlockSums {
public:
  using Values = BodyWalk::Values;

  BlockSums(ScalarOps &ops, mlir::gpu::GPUFuncOp kernel, ThreadPosition &position, ThreadMemory &memory,
            ThreadScalars &scalars);
  bool empty() const { return outputs.empty(); }
  /// What is added up, beside all that is wanted already.
  void want();
  /// A sum for each output and slot.
  Values identities();
  /// The row in hand, added to the sums.
  Values add(Values sums);
  /// Joins the sums of all teams of the block and stores them, behind the last row.
  void store(mlir::ArrayRef<mlir::Value> sums);

private:
  sched::SumOp sumOf(unsigned output) const { return position.nest.sumOf(output); }
  void storeOfTeam(unsigned output, mlir::ArrayRef<mlir::Value> sums);
  void storeOfBlock(unsigned output, mlir::ArrayRef<mlir::Value> sums, mlir::Value lines);
  /// Where a team's sums of a unit lie in shared memory.
  mlir::Value lineAddress(sched::SumOp sum, mlir::Value lines, mlir::Value team, mlir::Value unit);

  ScalarOps &ops;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::gpu::GPUFuncOp kernel;
  ThreadPosition &position;
  const GpuPlan &plan;
  ThreadMemory &memory;
  ThreadScalars &scalars;
  llvm::SmallVector<unsigned> outputs;
};

} // namespace kedge::lower::gpu
