// The body of a kernel function.
#pragma once
#include "passes/Lower/Cpu/NestKept.h"
#include "passes/Lower/Cpu/NestLoops.h"

namespace kedge::lower {

/// Loops over parallel dims, passes over reduced ones, stores. A scalar of the cluster is computed at the
/// outermost loop that knows all it needs.
class NestEmitter {
public:
  /// `pointers`: the nest's inputs, then its outputs.
  NestEmitter(mlir::OpBuilder &builder, mlir::Location loc, const ClusterNest &nest, const LoopPlan &plan,
              mlir::ValueRange pointers)
      : b(builder), loc(loc), nest(nest), plan(plan), ops(builder, loc), position(nest, plan),
        memory(ops, position, pointers), scalars(ops, position, memory),
        reductions(ops, position, memory, scalars), kept(ops, position, scalars),
        loops(ops, position, scalars, reductions) {}

  /// All iterations from `begin` to `end`.
  void emit(mlir::Value begin, mlir::Value end);

private:
  using Values = BodyWalk::Values;

  void parallelLoops(unsigned level);
  void enterParallel(unsigned level, mlir::Value index);
  void laneBlock(mlir::Value start, int64_t count);
  /// Elements [start, start + count) of the tile dim, in the current step.
  void tile(mlir::Value start, unsigned count);
  /// Both elements of the pair dim, in the current step.
  void pair();

  // What lies between the parallel loops.
  void row();
  void reductionPass(unsigned pass);
  void pointPass();
  void store(unsigned output);
  mlir::Value number(int64_t value) { return ops.intConstant(64, value, 1); }

  mlir::OpBuilder &b;
  mlir::Location loc;
  const ClusterNest &nest;
  const LoopPlan &plan;
  ScalarOps ops;
  NestPosition position;
  NestMemory memory;
  NestScalars scalars;
  NestReductions reductions;
  NestKept kept;
  NestLoops loops;
};

} // namespace kedge::lower
