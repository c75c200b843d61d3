// The folds of one pass over a row: their accumulators, and what becomes of them.
#pragma once
#include "passes/Lower/Cpu/NestScalars.h"

namespace kedge::lower {

/// Each fold has an accumulator for every copy of what it folds; along reduced lanes 64 partial results,
/// whatever the width, so that the tree of a sum is the same everywhere.
class NestFolds {
public:
  using Values = BodyWalk::Values;

  NestFolds(ScalarOps &ops, const NestPlace &place, NestMemory &memory, NestScalars &scalars)
      : ops(ops), place(place), memory(memory), scalars(scalars) {}

  /// Those of a pass; their inputs are wanted.
  void begin(unsigned pass);
  Values identities();
  Values combine(const Values &a, const Values &b);
  /// What lies at this place, added to the accumulators.
  Values accumulate(Values accumulators);
  /// The accumulators become what the folds give.
  void finish(const Values &accumulators);

private:
  unsigned slotsOf(sched::ReduceOp fold) const; ///< accumulators of a fold
  mlir::Value horizontal(sched::FoldKind kind, mlir::ArrayRef<mlir::Value> partials);

  ScalarOps &ops;
  const NestPlace &place;
  NestMemory &memory;
  NestScalars &scalars;
  llvm::SmallVector<sched::ReduceOp> folds;
};

} // namespace kedge::lower
