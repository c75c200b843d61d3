// What the bodies of kernels that turn tensors around have in common.
#pragma once
#include "passes/Lower/Gpu/thread/ThreadScalars.h"

namespace kedge::lower::gpu {

/// A thread of a block that takes a tile. The kernel's arguments are the nest's inputs, then its outputs.
class TileKernel {
public:
  TileKernel(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, const ClusterNest &nest,
             const GpuPlan &plan)
      : b(builder), kernel(kernel), loc(kernel.getLoc()), nest(nest), plan(plan),
        ops(builder, loc, Conversions::Device), position(ops, nest, plan), memory(ops, kernel, position),
        scalars(ops, position, memory) {}

protected:
  using Values = BodyWalk::Values;
  mlir::Value number(int64_t value) { return position.number(value); }

  mlir::OpBuilder &b;
  mlir::gpu::GPUFuncOp kernel;
  mlir::Location loc;
  const ClusterNest &nest;
  const GpuPlan &plan;
  ScalarOps ops;
  ThreadPosition position;
  ThreadMemory memory;
  ThreadScalars scalars;
};

} // namespace kedge::lower::gpu
