// One cluster as a sequence of simpler ones.
#pragma once
#include "mlir/IR/OwningOpRef.h"
#include "passes/Lower/Cluster/ClusterNest.h"
#include "passes/Lower/Gpu/GpuKernels.h"

namespace kedge::lower::gpu {

/// A cluster of the sequence and where its inputs and outputs lie.
struct Stage {
  sched::ClusterOp cluster;
  llvm::SmallVector<KernelLaunch::Operand> operands;
};

/// Space for tensors between the kernels of a launch.
class Workspace {
public:
  KernelLaunch::Operand add(int64_t bytes);
  int64_t bytes() const { return size; }

private:
  int64_t size = 0;
};

/// Builds clusters that are in no function, in a module of their own.
class StageBuilder {
public:
  StageBuilder(mlir::MLIRContext *context, Workspace &workspace);

  /// One cluster for each reduction pass, whose results go to the workspace and which stores the points that
  /// wait for no later one, then one for the other outputs of every point and one for outputs of every row.
  llvm::SmallVector<Stage> split(const ClusterNest &nest, llvm::ArrayRef<KernelLaunch::Operand> operands);
  /// The cluster that reduces `splits` partial results of each output of a pure reduction (but points, which
  /// are whole); partial results lie one whole output after the other in `partials`.
  Stage join(const ClusterNest &reduction, int64_t splits, llvm::ArrayRef<KernelLaunch::Operand> partials,
             llvm::ArrayRef<KernelLaunch::Operand> outputs);

private:
  mlir::OwningOpRef<mlir::ModuleOp> scratch;
  Workspace &workspace;
};

} // namespace kedge::lower::gpu
