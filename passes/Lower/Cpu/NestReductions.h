// The reductions of one pass over a row: their accumulators, and what becomes of them.
#pragma once
#include "passes/Lower/Cpu/NestScalars.h"

namespace kedge::lower {

/// Each reduction has an accumulator for every copy of what it reduces; along reduced lanes 64 partial
/// results, whatever the width, so that the tree of a sum is the same everywhere.
class NestReductions {
public:
  using Values = BodyWalk::Values;

  NestReductions(ScalarOps &ops, const NestPosition &position, NestMemory &memory, NestScalars &scalars)
      : ops(ops), position(position), memory(memory), scalars(scalars) {}

  /// Those of a pass; their inputs are wanted.
  void begin(unsigned pass);
  Values identities();
  Values combine(const Values &a, const Values &b);
  /// What lies at this place, added to the accumulators.
  Values accumulate(Values accumulators);
  /// The accumulators become what the reductions give.
  void finish(const Values &accumulators);

private:
  unsigned slotsOf(sched::ReduceOp reduction) const; ///< accumulators of a reduction
  mlir::Value horizontal(sched::ReductionKind kind, mlir::ArrayRef<mlir::Value> partials);

  ScalarOps &ops;
  const NestPosition &position;
  NestMemory &memory;
  NestScalars &scalars;
  llvm::SmallVector<sched::ReduceOp> reductions;
};

} // namespace kedge::lower
