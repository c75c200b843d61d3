// Loops of a nest that carry accumulators: over the lanes, and over reduced dims.
#pragma once
#include "passes/Lower/Cpu/NestReductions.h"

namespace kedge::lower {

/// What a loop's body makes known is forgotten behind it.
class NestLoops {
public:
  using Values = BodyWalk::Values;
  /// Takes and returns accumulators.
  using Leaf = llvm::function_ref<Values(Values)>;
  using Body = llvm::function_ref<Values(mlir::Value index, Values accumulators)>;

  NestLoops(ScalarOps &ops, NestPosition &position, NestScalars &scalars, NestReductions &reductions)
      : ops(ops), b(ops.builder), loc(ops.loc), position(position), nest(position.nest), plan(position.plan),
        scalars(scalars), reductions(reductions) {}

  Values loop(mlir::Value from, mlir::Value to, int64_t step, Values accumulators, Body body);
  /// Elements [start, start + count) of the dim in lanes, some vectors a step.
  Values overLanes(mlir::Value start, int64_t count, Values accumulators, Leaf leaf);
  /// All reduced dims.
  Values overReduced(Values accumulators, Leaf leaf) {
    return reducedLoops(0, std::move(accumulators), leaf);
  }

private:
  /// A loop of `count` steps from `from`; long ones in chunks with accumulators of their own.
  Values chunkedLoop(mlir::Value from, int64_t count, int64_t step, Values accumulators, Body body);
  Values inStep(const LaneStep &step, Values accumulators, Leaf leaf);
  Values reducedLoops(unsigned level, Values accumulators, Leaf leaf);
  int64_t stepsBelow(unsigned level) const;
  mlir::Value number(int64_t value) { return ops.intConstant(64, value, 1); }

  ScalarOps &ops;
  mlir::OpBuilder &b;
  mlir::Location loc;
  NestPosition &position;
  const ClusterNest &nest;
  const LoopPlan &plan;
  NestScalars &scalars;
  NestReductions &reductions;
};

} // namespace kedge::lower
