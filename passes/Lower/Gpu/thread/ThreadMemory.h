// Loads and stores of a thread, and the indices that they need.
#pragma once
#include "passes/Lower/Gpu/GpuMemory.h"
#include "passes/Lower/Gpu/thread/ThreadPosition.h"

namespace kedge::lower::gpu {

class ThreadMemory {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// The kernel's arguments are the nest's inputs, then its outputs.
  ThreadMemory(ScalarOps &ops, mlir::gpu::GPUFuncOp kernel, ThreadPosition &position)
      : ops(ops), b(ops.builder), loc(ops.loc), kernel(kernel), place(position), nest(position.nest),
        plan(position.plan) {}

  /// The copies of an input at this place.
  Values load(unsigned input);
  void store(unsigned output, unsigned copy, mlir::Value value);
  /// The address of an input's or output's element at given indices.
  mlir::Value inputAddress(unsigned input, const Values &indices);
  mlir::Value outputAddress(unsigned output, const Values &indices);
  /// An expression of the nest's dims, i64, in lanes where it varies along them.
  mlir::Value index(mlir::AffineExpr e, unsigned copy, unsigned width);
  /// The same in the width of positions.
  mlir::Value position(mlir::AffineExpr e, unsigned copy, unsigned width);

private:
  mlir::Value expand(mlir::AffineExpr e, const Values &indices, unsigned lane);
  mlir::Value offset(const Access &access, const Values &indices, unsigned lane);
  mlir::Value lanes(llvm::function_ref<mlir::Value(unsigned)> make);
  mlir::Value number(int64_t value) { return place.number(value); }

  ScalarOps &ops;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::gpu::GPUFuncOp kernel;
  ThreadPosition &place;
  const ClusterNest &nest;
  const GpuPlan &plan;
};

} // namespace kedge::lower::gpu
